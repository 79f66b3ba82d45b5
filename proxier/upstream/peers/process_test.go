package peers

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// TestKubeProxyRunsScenarios runs the shipped scenario files on nodes with kube-proxy. Those that it does not pass are known.
func TestKubeProxyRunsScenarios(t *testing.T) {
	known := map[string]string{
		"endpoint-slice-changes-service.yaml": "a slice that is given to another service stays with the former one",
		"slice-of-another-family.yaml":        "an address of the other family in a slice fails every restore",
		"udp-flow-through-failures.yaml":      "a search in conntrack that failed is neither told nor tried again",
		"saves-fail-and-restores-are-slow.yaml": "a flush of table nat alone is not noticed, as the monitor looks at table mangle, " +
			"and the next sync fails",
		"loopback-routed-before.yaml":       "a restart without localhost node ports leaves loopback routed, and takes the guard away",
		"events-out-of-order.yaml":          "no fault: it restores both families in every sync",
		"external-ip-gate.yaml":             "no fault: its feature gates hold for a whole process, which has all nodes here",
		"nftables.yaml":                     "in mode nftables an echo request to a cluster IP is rejected, as is a packet to an unused port",
		"nftables-affinity-timeout.yaml":    "no fault: it keeps the set of clients, with their old times and on older kernels its old timeout",
		"nftables-servicecidrs.yaml":        "in mode nftables changed ServiceCIDRs wait for the hourly full sync",
		"nftables-beside-other-tables.yaml": "in mode nftables a deleted table stays away until something changes, or an hour",
		"rules-walked.yaml":                 "no fault: a rule that is written again counts from 0, and it writes all of a chain",
	}
	if Minor < 37 {
		maps.Copy(known, map[string]string{
			"udp-endpoint-gone.yaml": "kubernetes#139628: flows of a service without endpoints are not looked at",
			"node-ports-words-and-ranges.yaml": "its server refuses primary beside ranges (kubernetes#138427), " +
				"and its proxier does not know the word",
		})
	}
	// Which of two services has an external IP is by chance in mode nftables, anew in each sync.
	const byChance = "nftables-shared-external-ip.yaml"
	all, err := scenarios.Load("../../../scenarios/testdata/cases")
	require.NoError(t, err)
	backend := sim.Backend{Options: sim.Options{Proxier: Process}}
	for _, s := range all {
		if filepath.Base(s.Pos.File) == byChance {
			continue
		}
		result := scenarios.Run(t.Context(), s, backend)
		why := known[filepath.Base(s.Pos.File)]
		for i := range result.Checks {
			if c := &result.Checks[i]; !c.Passed && why == "" {
				t.Errorf("%s with %s: %s: want %s: %s", c.At, c.Dialect, c.Name, c.Expected, c.Wrong)
			}
		}
		assert.Equal(t, why != "", result.Failed(), "%s: %s", s.Pos.File, why)
	}
}
