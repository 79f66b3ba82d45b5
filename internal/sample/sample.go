// Package sample tells long tests how many of their cases to take.
//
// `go test ./...` is what people run while they work, and what CI runs on each commit. A test that does the same with hundreds of scenario
// files or seeds takes every nth of them there, always the same ones. With CHAINWALK_ALL set (`make test-all`) it takes all of them.
// CI takes other ones with each commit (CHAINWALK_COMMIT): four commits in a row have all cases of a test that takes one of four.
//
// A test takes a sample only if something else has the rest: a make target that CI runs too, or one that is run by hand before a release.
//
// What asks the real kernel again what it has said before is long, and one commit seldom changes it. CI takes one part of it with each
// commit, and the next part with the next commit (CHAINWALK_PART, InPart). Without CHAINWALK_PART, as in all make targets, a test takes
// all of it; `make deep` is all that CI takes in parts.
package sample

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// takesAll says whether tests take all of their cases. It asks each time: go test notes what a test has asked the environment for, though
// not what a program asks before its tests begin, and would print what it has kept of a run with fewer cases.
func takesAll() bool { return os.Getenv("CHAINWALK_ALL") != "" }

// Every is n if a test takes a part of its cases, and 1 if it takes all. It is for tests that count their cases; those that list them ask
// Takes or Some.
func Every(n int) int {
	if takesAll() {
		return 1
	}
	return n
}

// Takes reports whether a test that takes one of every n of its cases takes case i, counted from 0. CHAINWALK_COMMIT is the number of the
// commit, by which CI takes other cases than for the commit before; without it, a run takes the first one of every n. The test fails if it
// is not a number.
func Takes(t testing.TB, i, n int) bool {
	t.Helper()
	commit, err := parseCommit(os.Getenv("CHAINWALK_COMMIT"))
	if err != nil {
		t.Fatal(err)
	}
	return takesAll() || i%n == commit%n
}

func parseCommit(commit string) (int, error) {
	if commit == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(commit)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("CHAINWALK_COMMIT is %q: want the number of a commit, as git rev-list --count HEAD prints it, or nothing", commit)
	}
	return n, nil
}

// Some are the cases that Takes takes of a list, one of every n.
func Some[T any](t testing.TB, all []T, n int) []T {
	t.Helper()
	var out []T
	for i, c := range all {
		if Takes(t, i, n) {
			out = append(out, c)
		}
	}
	return out
}

// Nth are every nth of the cases, with the first one.
func Nth[T any](all []T, n int) []T {
	var out []T
	for i := 0; i < len(all); i += n {
		out = append(out, all[i])
	}
	return out
}

// InPart reports whether a run takes case i of a list, counted from 0. CHAINWALK_PART is K/N, as in "1/4": the list is dealt out to N parts
// in turn, and the run takes the Kth. Without it a run takes all. The test fails if it is anything else.
func InPart(t testing.TB, i int) bool {
	t.Helper()
	in, err := inPart(os.Getenv("CHAINWALK_PART"), i)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func inPart(part string, i int) (bool, error) {
	if part == "" {
		return true, nil
	}
	number, of, isPart := strings.Cut(part, "/")
	k, wrong := strconv.Atoi(number)
	n, alsoWrong := strconv.Atoi(of)
	if !isPart || wrong != nil || alsoWrong != nil || k < 1 || k > n {
		return false, fmt.Errorf(`CHAINWALK_PART is %q: want K/N with 1 <= K <= N, as in "1/4", or nothing`, part)
	}
	return i%n == k-1, nil
}

// Whole reports whether a run takes all of what CI takes in parts.
func Whole() bool { return os.Getenv("CHAINWALK_PART") == "" }

// InAll takes every case, where InPart would take a part.
func InAll(testing.TB, int) bool { return true }

// Part are the cases of a list that a run takes, as InPart has it.
func Part[T any](t testing.TB, all []T) []T {
	t.Helper()
	var out []T
	for i, c := range all {
		if InPart(t, i) {
			out = append(out, c)
		}
	}
	return out
}

// Checks has rapid draw n examples, and not a hundred, for each property until the test ends. With CHAINWALK_ALL it draws its hundred, and
// with -rapid.checks or RAPID_CHECKS as many as those say. It is not for tests that run in parallel.
func Checks(t testing.TB, n int) {
	t.Helper()
	checks := flag.Lookup(rapidChecks)
	if checks == nil {
		t.Fatal("the test links no rapid")
	}
	if takesAll() || checksAreSaid() {
		return
	}
	before := checks.Value.String()
	t.Cleanup(func() { _ = checks.Value.Set(before) })
	_ = checks.Value.Set(strconv.Itoa(n))
}

const rapidChecks = "rapid.checks" // a flag

// checksAreSaid reports whether whoever runs the tests says how many examples rapid draws.
func checksAreSaid() bool {
	said := os.Getenv("RAPID_CHECKS") != ""
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == rapidChecks })
	return said
}
