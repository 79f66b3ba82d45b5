//go:build linux

package differ

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// needKernel skips a test that is not asked to use the machine's kernel and tools.
func needKernel(t *testing.T) {
	t.Helper()
	kerneltest.Need(t, tools()...)
}

// labsOf are laboratories on this machine for the tools of either kernel interface, which end with the test.
func labsOf(t *testing.T) map[netfilter.Dialect]*lab {
	t.Helper()
	use, err := thisMachine().begin()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, use.end()) })
	labs := map[netfilter.Dialect]*lab{}
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		one, err := newLab(d)
		require.NoError(t, err)
		t.Cleanup(one.close)
		labs[d] = one
	}
	return labs
}

// printJSON prints numbers as a line of JSON, which the search adds up.
func printJSON(t *testing.T, n numbersLine) {
	line, err := json.Marshal(n)
	require.NoError(t, err)
	fmt.Printf("\n%s%s\n", numbersPrefix, line)
}

// record is the flag that has the kernel tests write the answers of this machine's kernel and tools into the files that have the recorded
// ones.
var record = flag.Bool("record", false, "write the answers of this machine's kernel and tools into the recorded cases")

// TestKernelWalkCases replays the recorded cases on this machine's kernel, with which the fake must agree.
func TestKernelWalkCases(t *testing.T) {
	needKernel(t)
	labs := labsOf(t)
	numbers := &replayNumbers{}
	for _, path := range sample.Part(t, slices.Concat(caseFiles(t, walkCases, "walk"), caseFiles(t, nativeCases, "native"))) {
		t.Run(caseName(path), func(t *testing.T) {
			var c walkCase
			require.NoError(t, readFile(path, &c))
			v, err := judge(&c, &labKernel{lab: labs[c.Dialect]})
			require.NoError(t, err)
			require.Empty(t, v.Disagreement)
			require.Empty(t, v.Refused)
			numbers.Cases, numbers.Packets, numbers.Steps = numbers.Cases+1, numbers.Packets+v.Packets, numbers.Steps+v.Steps
			if *record {
				c.Kernel = v.Answer
				_, err := writeFile(filepath.Dir(path), filepath.Base(path), &c)
				require.NoError(t, err)
			}
		})
	}
	printJSON(t, numbersLine{Replay: numbers})
}
