//go:build linux

package differ

import (
	"fmt"
	"os"
	"testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKernelTextDifferential(t *testing.T) {
	needKernel(t)
	defer func() { _ = os.Remove(lockFile()) }()
	for _, d := range []fakeipt.Dialect{fakeipt.Legacy, fakeipt.NFT} {
		for _, f := range []fakeipt.Family{fakeipt.IPv4, fakeipt.IPv6} {
			t.Run(fmt.Sprintf("%s/IPv%d", dialectName(d), f), func(t *testing.T) {
				numbers, err := runTexts(bounds(t, 12, 100000), d, f, freshRunner, os.Stdout)
				require.NoError(t, err)
				numbers.Print(os.Stdout)
				printJSON(t, numbers)
				assert.Empty(t, numbers.Disagreements)
			})
		}
	}
}

// TestKernelTextCases replays the recorded cases on this machine's tools, which must still answer as they did.
func TestKernelTextCases(t *testing.T) {
	needKernel(t)
	defer func() { _ = os.Remove(lockFile()) }()
	for _, path := range caseFiles(t, textCases, "text") {
		t.Run(caseName(path), func(t *testing.T) {
			var c TextCase
			require.NoError(t, readFile(path, &c))
			real, done, err := freshRunner()
			require.NoError(t, err)
			defer done()
			v, err := judgeText(&c, real, &recordedRuns{c.Kernel})
			require.NoError(t, err)
			require.Empty(t, v.Disagreement)
		})
	}
}
