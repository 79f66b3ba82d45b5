package migration

import (
	_ "embed" // of the scenario
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

//go:embed testdata/switch.yaml
var switching string

// modes are the two modes, the first one first.
var modes = []struct{ from, to string }{{"iptables", "nftables"}, {"nftables", "iptables"}}

// scenario is the file for a change from a mode to the other, and back.
func scenario(t *testing.T, from, to string) *scenarios.Scenario {
	t.Helper()
	text := strings.NewReplacer("FROM", from, "TO", to).Replace(switching)
	s, err := scenarios.Read("testdata/switch.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return s
}

// TestScenarioHoldsInMemory: what the file expects of clusters holds in the simulator.
func TestScenarioHoldsInMemory(t *testing.T) {
	for _, m := range modes {
		t.Run("from "+m.from, func(t *testing.T) {
			result := scenarios.Run(t.Context(), scenario(t, m.from, m.to), sim.Backend{})
			require.Empty(t, result.Skipped)
			for i := range result.Checks {
				c := &result.Checks[i]
				assert.True(t, c.Passed, "%s %s: %s", c.At, c.Name, c.Wrong)
			}
		})
	}
}

// TestForetoldIsWhatHappens changes the mode of kube-proxy on two clusters that have the same objects, one in each mode, and changes it
// back. Each packet of the scenario fares as chainwalk migrate foretold before the change.
func TestForetoldIsWhatHappens(t *testing.T) {
	need(t)
	program := built(t)
	for place, m := range modes {
		t.Run("from "+m.from, func(t *testing.T) {
			b := newBench(t, program, proxy(), m.from, place)
			result := scenarios.Run(t.Context(), scenario(t, m.from, m.to), b)
			require.Empty(t, result.Skipped)
			foretold := 0
			for i := range result.Checks {
				c := &result.Checks[i]
				assert.True(t, c.Passed, "%s %s: %s", c.At, c.Name, c.Wrong)
				assert.Empty(t, c.Disagreements, "%s %s: predicted %s, got %s", c.At, c.Name, c.Predicted, c.Got)
				if c.Predicted != "" {
					foretold++
				}
			}
			t.Logf("%d checks, %d of them foretold", len(result.Checks), foretold)
			require.Len(t, b.changes, 2)
			for i := range b.changes {
				judge(t, &b.changes[i])
			}
		})
	}
}

// judge looks at what was foretold of one change.
func judge(t *testing.T, c *change) {
	t.Helper()
	t.Logf("to %s: %s", c.to, c.answer.Answer)
	assert.Equal(t, 0, c.status)
	assert.Empty(t, c.answer.Findings)
	for _, name := range clausesOf(t) {
		assert.True(t, slices.ContainsFunc(c.answer.Documented, func(m live.Moved) bool { return m.Clause == name }), "%s is not named", name)
	}
	for node, differs := range c.differs {
		assert.Fail(t, node+" is not as foretold", differs)
	}
}

// clausesOf are the clauses that the names of the scenario's connections begin with: those about which the modes differ.
func clausesOf(t *testing.T) (out []string) {
	t.Helper()
	for _, line := range strings.Split(switching, "\n") {
		if name, ok := strings.CutPrefix(line, "  - name: "); ok {
			clause, _, _ := strings.Cut(name, ",")
			out = append(out, clause)
		}
	}
	require.NotEmpty(t, out)
	return out
}
