package netns

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/scenarios"
)

const savedText = `*filter
:INPUT ACCEPT [9:900]
[3:180] -A INPUT -m conntrack --ctstate INVALID -m nfacct --nfacct-name  dropped -j DROP
[5:300] -A INPUT -j ACCEPT
COMMIT
`

func seenStep(at, rule string) sighting {
	return sighting{step: scenarios.TraceStep{At: at, Rule: rule}, frame: &frame{}}
}

func TestWhatIsTakenBackDoesNotCount(t *testing.T) {
	const rule = "-A INPUT -m conntrack --ctstate INVALID -m nfacct --nfacct-name  dropped -j DROP"
	m := newMemory()
	m.discount([]sighting{
		seenStep("filter:INPUT:rule:1", rule), seenStep("filter:INPUT:rule:1", rule),
		seenStep("filter:INPUT:policy:3", ""), {mark: markIn, frame: &frame{}},
	})
	saved := m.discountRules(false, savedText)
	assert.Contains(t, saved, "[1:180] "+rule)
	assert.Contains(t, saved, "[5:300] -A INPUT -j ACCEPT")
	assert.Equal(t, map[string]int{"dropped": 2}, m.accounted)
	assert.Equal(t, savedText, m.discountRules(true, savedText), "the rules of the other family")
}

func TestRulesThatAreWrittenAnewCountFromZero(t *testing.T) {
	m := newMemory()
	m.counted[countedRule{false, "filter", "-A INPUT -j ACCEPT"}] = 6 // more than it has counted
	m.counted[countedRule{false, "filter", "-A INPUT -j GONE"}] = 1
	m.counted[countedRule{true, "filter", "-A INPUT -j GONE"}] = 1
	m.recount(false, savedText)
	assert.Equal(t, map[countedRule]int{{true, "filter", "-A INPUT -j GONE"}: 1}, m.counted)
}

func TestRuleBookReadsSteps(t *testing.T) {
	b := &ruleBook{read: true, rules: map[chainID][]string{}, policies: map[chainID]string{}, numbers: map[chainID]map[uint64]int{}}
	b.parse(false, `*nat
:PREROUTING ACCEPT [0:0]
:A:B - [0:0]
-A PREROUTING -j A:B
-A A:B -m statistic --mode random --probability 0.50000000000 -j RETURN
-A A:B -j ACCEPT
COMMIT
`)
	b.numbers[chainID{false, "nat", "A:B"}] = map[uint64]int{40: 1, 41: 2}
	assert.Equal(t, "-A PREROUTING -j A:B", b.step(false, "nat:PREROUTING:rule:1").Rule)
	assert.Empty(t, b.step(true, "nat:PREROUTING:rule:1").Rule, "another family")
	assert.Empty(t, b.step(false, "nat:PREROUTING:policy:2").Rule)
	assert.Equal(t, "ACCEPT", b.policy(false, "nat:PREROUTING:policy:2"))
	assert.False(t, b.chancy(false, "nat:PREROUTING:rule:1"))
	assert.True(t, b.chancy(false, "nat:A:B:rule:2"), "the rule before it did not match, by chance")
	assert.Equal(t, scenarios.TraceStep{At: "nat:A:B:rule:2", Rule: "-A A:B -j ACCEPT"}, b.traced(false, "nat", "A:B", "rule", 41))
	assert.Equal(t, "nat:A:B:return:3", b.traced(false, "nat", "A:B", "rule", 0).At, "the end of a chain")
	assert.Equal(t, "nat:PREROUTING:policy:2", b.traced(false, "nat", "PREROUTING", "policy", 0).At)
	assert.Empty(t, b.traced(false, "nat", "PREROUTING", "rule", 0).At, "the policy comes next")
}

func TestTallyCountsWays(t *testing.T) {
	var count tally
	way := func(host string) scenarios.Way { return scenarios.Way{End: scenarios.Delivered, Host: host} }
	for _, host := range []string{"a", "b", "a", "a"} {
		count.add(way(host))
	}
	seen := count.observed()
	assert.Equal(t, 4, seen.Samples)
	assert.Len(t, seen.Ways, 2)
	assert.InDelta(t, 0.75, seen.Ways[0].Probability, 1e-9)
	var once tally
	once.add(way("a"))
	assert.Zero(t, once.observed().Samples, "what chance has no part in is certain")
}
