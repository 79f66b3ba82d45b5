package peers

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/sim"
)

// TestKubeProxyRunsScenarios runs the shipped scenario files on nodes with kube-proxy. Those that it does not pass are known.
func TestKubeProxyRunsScenarios(t *testing.T) {
	known := map[string]string{
		"endpoint-slice-changes-service.yaml": "a slice that is given to another service stays with the former one",
		"slice-of-another-family.yaml":        "an address of the other family in a slice fails every restore",
		"udp-endpoint-gone.yaml":              "kubernetes#139628: flows of a service without endpoints are not looked at",
		"restore-fails-and-heals.yaml":        "no fault: it restores both families in every sync, so two failures are those of one",
	}
	all, err := scenarios.Load("../../../scenarios/testdata/cases")
	require.NoError(t, err)
	backend := sim.Backend{Options: sim.Options{Proxier: Process}}
	for _, s := range all {
		result := scenarios.Run(t.Context(), s, backend)
		why := known[filepath.Base(s.Pos.File)]
		for i := range result.Checks {
			if c := &result.Checks[i]; !c.Passed && why == "" {
				t.Errorf("%s with %s: %s: want %s: %s", c.At, c.Tool, c.Name, c.Expected, c.Wrong)
			}
		}
		assert.Equal(t, why != "", result.Failed(), "%s: %s", s.Pos.File, why)
	}
}
