//go:build linux

package differ

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// TestKernelTextCases replays the recorded cases on this machine's tools, which must still answer as they did. The flag
// -record writes the tools' answers into the cases that have none.
func TestKernelTextCases(t *testing.T) {
	needKernel(t)
	for _, path := range sample.Part(t, caseFiles(t, textCases, "text")) {
		t.Run(caseName(path), func(t *testing.T) {
			var c textCase
			require.NoError(t, readFile(path, &c))
			real, done, err := freshRunner()
			require.NoError(t, err)
			defer done()
			if c.Kernel == nil && *record {
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
