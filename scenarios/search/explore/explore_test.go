package explore

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/race"
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

// TestExplore finds no sequence after which a flow is where the specification does not allow it.
func TestExplore(t *testing.T) {
	for _, e := range race.Some(All(depth(t), netfilter.Legacy), 5) {
		t.Run(e.String(), func(t *testing.T) {
			t.Parallel()
			report, err := e.Run(t.Context())
			require.NoError(t, err)
			var text strings.Builder
			report.Print(&text)
			t.Log(e.String() + ": " + text.String())
			assert.Empty(t, report.Counterexamples)
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
	for _, path := range []Path{ClusterIP, NodePort} {
		e := Exploration{Protocol: corev1.ProtocolUDP, Path: path, Endpoints: 1, Depth: 2, Dialect: netfilter.Legacy, Proxier: neverCleans}
		report, err := e.Run(t.Context())
		require.NoError(t, err)
		var found []string
		for _, f := range report.Counterexamples {
			found = append(found, f.Sequence.String())
			assert.Same(t, oracle.StaleUDPFlow, f.Clause, f.Sequence.String())
			require.NotNil(t, f.Witness, f.Sequence.String())
			broken := scenarios.Run(t.Context(), f.Witness, sim.Backend{Options: sim.Options{Proxier: neverCleans}})
			assert.True(t, broken.Failed(), f.Sequence.String())
			sound := scenarios.Run(t.Context(), f.Witness, sim.Backend{})
			assert.False(t, sound.Failed(), "%s: %+v", f.Sequence, sound.Checks)
		}
		assert.Contains(t, found, "de", "the endpoint goes after a datagram")
	}
}

// TestSequences holds which sequences are told by shorter ones.
func TestSequences(t *testing.T) {
	var all []string
	each(2, func(s Sequence) bool {
		all = append(all, s.String())
		return true
	})
	assert.Equal(t, strings.Fields("d dd da de ds dr dt a ad ae as ar at e ed ea ee es er ec et s sd sa se ss sr sc st"), all)
}
