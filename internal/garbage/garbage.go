// Package garbage has the test programs that link it collect their garbage rarely.
//
// A test makes kernels, rulesets and walks, and soon forgets them. Little memory is in use at a time, and Go by default collects as often
// as that little has doubled, so that much of such a test's processor time is the collector's. A program that links this package collects
// when the memory in use has grown to nine times, and as often as it must from 512 MiB on.
//
// The package is for tests alone, which import it by the name _. Benchmarks measure what users have, so that a program which runs some
// collects as always. GOGC and GOMEMLIMIT count if they are set, as in .ci/run.
package garbage

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	percent = 800       // of the memory in use, as of GOGC
	most    = 512 << 20 // bytes, as of GOMEMLIMIT
)

func init() {
	if measures(os.Args) {
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most)
	}
}

// measures reports whether arguments of a test program ask for benchmarks.
func measures(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "test.bench") })
}
