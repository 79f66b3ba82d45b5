package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatIsNotAsPredictedFails, whatever a scenario expects, and is told with the way that was predicted.
func TestWhatIsNotAsPredictedFails(t *testing.T) {
	ways := []Way{{Probability: 1, End: Dropped, Host: "node1", Rule: "-A FORWARD -j DROP", Forward: []Hop{{Host: "node1", Packet: "tcp 1", Result: "dropped"}}}}
	held := Check{At: "f:1:1", Name: "n", Passed: true, Expected: "e", Got: "g"}
	agreed, wrong, none := held, held, held
	agreed.foretold(&Prediction{Ways: ways})
	assert.True(t, agreed.Passed)
	assert.Equal(t, "dropped on node1 by -A FORWARD -j DROP", agreed.Predicted)
	wrong.foretold(&Prediction{Ways: ways, Wrong: "it was answered"})
	assert.False(t, wrong.Passed)
	assert.Equal(t, "not as predicted: it was answered", wrong.Wrong)
	none.foretold(&Prediction{None: "no rules of iptables"})
	assert.True(t, none.Passed)
	assert.Equal(t, "nothing: no rules of iptables", none.Predicted)
	unexpected := Check{Wrong: "too late"}
	unexpected.foretold(&Prediction{Wrong: "it was answered"})
	assert.Equal(t, "too late; not as predicted: it was answered", unexpected.Wrong)

	var out strings.Builder
	require.NoError(t, WriteText(&out, []*Result{{Name: "n", File: "f", Checks: []Check{wrong}}}, WaysFailed))
	assert.Contains(t, out.String(), "    expected:  e\n    predicted: dropped on node1 by -A FORWARD -j DROP\n    got:       g\n")
	assert.Contains(t, out.String(), "predicted with the chance 1: dropped on node1 by -A FORWARD -j DROP\n    decided by -A FORWARD -j DROP\n      there, node1: tcp 1\n")
}
