package peers

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/kindtest/onkernel/netns"
	"github.com/chainwalk/chainwalk/scenarios"
)

// TestKernelFindings holds on this machine's kernel what TestFindings holds on the simulated one.
func TestKernelFindings(t *testing.T) {
	kerneltest.Need(t, "iptables", "ip6tables", "nft")
	all, err := scenarios.Load("../testdata/findings")
	require.NoError(t, err)
	stated := inNewest(t)
	for _, s := range all {
		name := strings.TrimSuffix(filepath.Base(s.Pos.File), ".yaml")
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, stated[name] || Minor < 37, fails(t, s, netns.Backend{Proxier: Process}), "with kube-proxy v1.%d", Minor)
			ours := scenarios.Run(t.Context(), s, netns.Backend{})
			require.Empty(t, ours.Skipped)
			assert.False(t, ours.Failed(), "%+v", ours.Checks)
		})
	}
}
