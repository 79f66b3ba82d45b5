//go:build linux

package differ

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
	"github.com/chainwalk/chainwalk/netfilter"
)

// textRuns is the number of runs that a number of calls is shared by: each dialect and family has one.
const textRuns = 4

func TestKernelTextDifferential(t *testing.T) { agreeOnTexts(t, bounds(t, 12, 100000)) }

// TestKernelIPSetDifferential compares sessions of ipset, with a fifth as many calls as those of all tools.
func TestKernelIPSetDifferential(t *testing.T) {
	b := bounds(t, 48, 100000)
	b.Tool, b.Rulesets, b.Calls = "ipset", (b.Rulesets+toolSessions-1)/toolSessions, (b.Calls+4)/5
	agreeOnTexts(t, b)
}

// TestKernelNFAcctDifferential compares sessions of nfacct, which has few commands: a fifteenth as many calls.
func TestKernelNFAcctDifferential(t *testing.T) {
	b := bounds(t, 96, 100000)
	b.Tool, b.Rulesets, b.Calls = "nfacct", (b.Rulesets+toolSessions-1)/toolSessions, (b.Calls+14)/15
	agreeOnTexts(t, b)
}

// toolSessions is how many sessions of all tools one of a single tool is made for: it has more calls.
const toolSessions = 4

// agreeOnTexts demands that the fake's tools say in each dialect and family what the real ones say.
func agreeOnTexts(t *testing.T, b runBounds) {
	t.Helper()
	needKernel(t)
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		for _, f := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
			t.Run(fmt.Sprintf("%s/IPv%d", d, f), func(t *testing.T) {
				numbers, err := runTexts(b, d, f, freshRunner, os.Stdout)
				require.NoError(t, err)
				numbers.print(os.Stdout)
				printJSON(t, numbers)
				assert.Empty(t, numbers.Disagreements)
			})
		}
	}
}

// TestKernelTextCases replays the recorded cases on this machine's tools, which must still answer as they did. CHAINWALK_DIFFER_RECORD
// writes the tools' answers into the cases that have none.
func TestKernelTextCases(t *testing.T) {
	needKernel(t)
	for _, path := range caseFiles(t, textCases, "text") {
		t.Run(caseName(path), func(t *testing.T) {
			var c textCase
			require.NoError(t, readFile(path, &c))
			real, done, err := freshRunner()
			require.NoError(t, err)
			defer done()
			if c.Kernel == nil && os.Getenv("CHAINWALK_DIFFER_RECORD") != "" {
				recordText(t, path, &c, real)
				return
			}
			v, err := judgeText(&c, real, &recordedRuns{c.Kernel})
			require.NoError(t, err)
			require.Empty(t, v.Disagreement)
		})
	}
}

// recordText writes the real tools' answers into a case.
func recordText(t *testing.T, path string, c *textCase, real runner) {
	for i := range c.Steps {
		run, err := real.run(&c.Steps[i])
		require.NoError(t, err)
		run, _ = toolrun.Steady(run)
		c.Kernel = append(c.Kernel, run)
	}
	_, err := writeFile(filepath.Dir(path), filepath.Base(path), c)
	require.NoError(t, err)
}
