package scenarios

import (
	"math/big"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answeredAt are ways to servers on node1, each with its chance, which a client hears an answer from.
func answeredAt(chances map[string]float64) []Way {
	var ways []Way
	for at, chance := range chances {
		ways = append(ways, Way{Probability: chance, End: Delivered, Heard: true, Host: at, Server: netip.MustParseAddrPort(at)})
	}
	return ways
}

const first, second = "10.0.0.1:80", "10.0.0.2:80"

// halves expect both servers alike.
func halves() *Expect {
	half := big.NewRat(1, 2)
	return &Expect{Endpoints: Shares{{netip.MustParseAddrPort(first), half}, {netip.MustParseAddrPort(second), half}}}
}

// TestThreeColumnsAreHeldToOneAnother two by two: counts may fit what is expected and what is predicted, though these are not the same.
func TestThreeColumnsAreHeldToOneAnother(t *testing.T) {
	even, thirds := map[string]float64{first: 0.5, second: 0.5}, map[string]float64{first: 1. / 3, second: 2. / 3}
	counted := map[string]float64{first: 0.42, second: 0.58} // of a hundred, which both have
	for name, tc := range map[string]struct {
		seen       map[string]float64
		samples    int
		prediction Prediction
		want       []Disagreement
		wrong      string
	}{
		"all agree": {counted, 100, Prediction{Ways: answeredAt(even)}, nil, ""},
		"a third is predicted, and counts have both": {
			counted, 100, Prediction{Ways: answeredAt(thirds)},
			[]Disagreement{{ExpectedPredicted, "10.0.0.1:80 has the chance 0.333333333, not 0.5"}},
			"the prediction is not as expected: 10.0.0.1:80 has the chance 0.333333333, not 0.5",
		},
		"it came as predicted, and not as expected": {
			map[string]float64{first: 1}, 100, Prediction{Ways: answeredAt(map[string]float64{first: 1})},
			[]Disagreement{
				{ExpectedGot, "10.0.0.1:80 has the chance 1, not 0.5"}, {ExpectedPredicted, "10.0.0.1:80 has the chance 1, not 0.5"},
			},
			"10.0.0.1:80 has the chance 1, not 0.5", // once
		},
		"it came as expected, and not as predicted": {
			counted, 100, Prediction{Ways: answeredAt(even), Wrong: "silent"}, []Disagreement{{PredictedGot, "silent"}}, "not as predicted: silent",
		},
		"nothing is predicted": {counted, 100, Prediction{None: "no rules of iptables"}, nil, ""},
		"a way was predicted that is none of those expected": {
			counted, 100, Prediction{Ways: answeredAt(map[string]float64{first: 0.5, second: 0.25, "10.0.0.3:80": 0.25})},
			[]Disagreement{{ExpectedPredicted, "10.0.0.2:80 has the chance 0.25, not 0.5"}},
			"the prediction is not as expected: 10.0.0.2:80 has the chance 0.25, not 0.5",
		},
		"it is known what can happen, and not how often": {counted, 100, Prediction{Ways: answeredAt(thirds), Partly: "clients"}, nil, ""},
		"what is expected is among more that can happen": {counted, 100,
			Prediction{Ways: append(answeredAt(even), Way{End: Dropped}), Partly: "clients"}, nil, ""},
		"what is expected cannot happen": {
			counted, 100, Prediction{Ways: answeredAt(map[string]float64{first: 1}), Partly: "clients"},
			[]Disagreement{{ExpectedPredicted, "10.0.0.2:80 has the chance 0, not 0.5"}},
			"the prediction is not as expected: 10.0.0.2:80 has the chance 0, not 0.5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judge{expect: halves(), seen: &Observed{Ways: answeredAt(tc.seen), Samples: tc.samples, Prediction: &tc.prediction}}
			c := Check{}
			c.Wrong, _ = j.verdict()
			c.foretold(j)
			assert.Equal(t, tc.want, c.Disagreements)
			assert.Equal(t, tc.wrong, c.Wrong)
			assert.Equal(t, tc.wrong == "", c.Passed)
		})
	}
}

// TestAPredictionSaysWhatItKnows: no chances where there are none.
func TestAPredictionSaysWhatItKnows(t *testing.T) {
	ways := []Way{{Probability: 0.25, End: Dropped, Host: "node1", Rule: "-j DROP"},
		{Probability: 0.75, End: Dropped, Host: "node2", Rule: "-j DROP"}}
	assert.Equal(t, "0.25 dropped on node1 by -j DROP; 0.75 dropped on node2 by -j DROP", (&Prediction{Ways: ways}).String())
	assert.Equal(t, "dropped on node1 by -j DROP; dropped on node2 by -j DROP; how often is not known: clients",
		(&Prediction{Ways: ways, Partly: "clients"}).String())
	assert.Equal(t, "nothing: no rules", (&Prediction{None: "no rules"}).String())
}

// TestAPredictionIsToldWithItsWay where a check fails.
func TestAPredictionIsToldWithItsWay(t *testing.T) {
	ways := []Way{{Probability: 1, End: Dropped, Host: "node1", Rule: "-A FORWARD -j DROP",
		Forward: []Hop{{Host: "node1", Packet: "tcp 1", Result: "dropped"}}}}
	j := &judge{expect: &Expect{Drop: Matched{Wanted: true}},
		seen: &Observed{Ways: ways, Prediction: &Prediction{Ways: ways, Wrong: "it was answered"}}}
	c := Check{At: "f:1:1", Name: "n", Expected: "e", Got: "g"}
	c.foretold(j)
	var out strings.Builder
	require.NoError(t, WriteText(&out, []*Result{{Name: "n", File: "f", Checks: []Check{c}}}, WaysFailed))
	assert.Contains(t, out.String(),
		"    expected:  e\n    predicted: dropped on node1 by -A FORWARD -j DROP\n    got:       g\n"+
			"    wrong:     not as predicted: it was answered\n")
	assert.Contains(t, out.String(),
		"predicted with the chance 1: dropped on node1 by -A FORWARD -j DROP\n    decided by -A FORWARD -j DROP\n      there, node1: tcp 1\n")
}
