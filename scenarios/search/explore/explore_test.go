package explore

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// depth is how many letters the sequences have: CHAINWALK_EXPLORE_DEPTH, or a few.
func depth(t *testing.T) int {
	text := os.Getenv("CHAINWALK_EXPLORE_DEPTH")
	if text == "" {
		return 3
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "CHAINWALK_EXPLORE_DEPTH")
	return n
}

// modes are the modes of kube-proxy to explore: CHAINWALK_EXPLORE_MODE as the flag --mode of the command spells them, or both.
func modes(t *testing.T) []scenarios.Mode {
	modes, err := scenarios.ParseModes(cmp.Or(os.Getenv("CHAINWALK_EXPLORE_MODE"), "both"))
	require.NoError(t, err, "CHAINWALK_EXPLORE_MODE")
	return modes
}

// TestExplore finds no sequence after which a flow is where the specification does not allow it.
func TestExplore(t *testing.T) {
	var all []exploration
	for _, mode := range modes(t) {
		all = append(all, allExplorations(depth(t), netfilter.Legacy, mode)...)
	}
	for _, e := range race.Some(sample.Some(t, all, 4), 2) {
		t.Run(e.String(), func(t *testing.T) {
			t.Parallel()
			report, err := e.run(t.Context())
			require.NoError(t, err)
			var text strings.Builder
			report.print(&text)
			t.Log(e.String() + ": " + text.String())
			assert.Empty(t, report.counterexamples)
		})
	}
}

// neverCleans is a proxier that does not look at conntrack.
func neverCleans(p node.Process) (node.Proxy, []string, error) {
	p.Kernel.Conntrack = nil
	return node.Chainwalk(p)
}

// TestExploreFindsStaleFlows finds that a proxier leaves flows behind, by the shortest sequences that show it, and writes
// scenarios that fail with that proxier and with no other.
func TestExploreFindsStaleFlows(t *testing.T) {
	for _, path := range []entrance{byClusterIP, byNodePort} {
		e := exploration{protocol: corev1.ProtocolUDP, path: path, endpoints: 1, depth: 2, dialect: netfilter.Legacy, proxier: neverCleans}
		report, err := e.run(t.Context())
		require.NoError(t, err)
		var found []string
		for _, f := range report.counterexamples {
			found = append(found, f.sequence.String())
			assert.Same(t, oracle.StaleUDPFlow, f.clause, f.sequence.String())
			require.NotNil(t, f.witness, f.sequence.String())
			broken := scenarios.Run(t.Context(), f.witness, sim.Backend{Options: sim.Options{Proxier: neverCleans}})
			assert.True(t, broken.Failed(), f.sequence.String())
			sound := scenarios.Run(t.Context(), f.witness, sim.Backend{})
			assert.False(t, sound.Failed(), "%s: %+v", f.sequence, sound.Checks)
		}
		assert.Contains(t, found, "de", "the endpoint goes after a datagram")
	}
}

// TestSequences holds which sequences are told by shorter ones.
func TestSequences(t *testing.T) {
	var all []string
	each(2, func(s sequence) bool {
		all = append(all, s.String())
		return true
	})
	assert.Equal(t, strings.Fields("d dd da de ds dr dt a ad ae as ar at e ed ea ee es er ec et s sd sa se ss sr sc st"), all)
}
