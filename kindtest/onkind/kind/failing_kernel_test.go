//go:build linux

package kind

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelAToolThatFailsCommitsWhatItIsToldTo, says what is wrong in its own words, and leaves the other tables as they were.
func TestKernelAToolThatFailsCommitsWhatItIsToldTo(t *testing.T) {
	const input = "*filter\n:KUBE-ONE - [0:0]\n-A KUBE-ONE -j ACCEPT\nCOMMIT\n*nat\n:KUBE-TWO - [0:0]\nCOMMIT\n"
	for name, row := range map[string]struct {
		commits     []string
		filter, nat bool
	}{"none": {}, "filter": {[]string{"filter"}, true, false}, "both": {[]string{"filter", "nat"}, true, true}} {
		t.Run(name, func(t *testing.T) {
			n := kerneltest.New(t)
			tool := filepath.Join(t.TempDir(), "iptables-restore")
			put := exec.Command("sh", "-c", install, tool)
			put.Stdin = strings.NewReader(shimOf(row.commits))
			require.NoError(t, put.Run())
			for range 2 {
				failed := n.Run([]string{tool, "-w", "5", "--noflush"}, input)
				assert.NotZero(t, failed.Status)
				assert.Contains(t, failed.Stderr, "No chain/target/match by that name", "in the tool's own words")
			}
			assert.Equal(t, row.filter, n.Run([]string{"iptables", "-S", "KUBE-ONE"}, "").Status == 0)
			assert.Equal(t, row.nat, n.Run([]string{"iptables", "-t", "nat", "-S", "KUBE-TWO"}, "").Status == 0)
			calls, err := os.ReadFile(tool + ".calls")
			require.NoError(t, err)
			assert.Equal(t, "\n\n", string(calls), "both are counted")
		})
	}
}
