package peers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

// TestFindings holds that each finding is one: kube-proxy does not do what the scenario expects, and this project's proxier does.
func TestFindings(t *testing.T) {
	all, err := scenarios.Load("../testdata/findings")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, s := range all {
		theirs := scenarios.Run(t.Context(), s, sim.Backend{Options: sim.Options{Proxier: Process}})
		assert.True(t, theirs.Failed(), "%s holds with kube-proxy", s.Pos.File)
		ours := scenarios.Run(t.Context(), s, sim.Backend{})
		assert.False(t, ours.Failed(), "%s: %+v", s.Pos.File, ours.Checks)
	}
}
