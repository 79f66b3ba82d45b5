package netns

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/internal/nftrace"
	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

const savedText = `*filter
:INPUT ACCEPT [9:900]
[3:180] -A INPUT -m conntrack --ctstate INVALID -m nfacct --nfacct-name  dropped -j DROP
[5:300] -A INPUT -j ACCEPT
COMMIT
`

// readBook is a book of rules that were printed.
func readBook(t *testing.T, tool netfilter.Dialect, save string) *ruleBook {
	h := &host{Host: &plan.Host{Name: "node"}, exec: &dialectExec{dialect: tool}}
	b := &ruleBook{host: h, read: true, chains: map[chainID]*savedChain{}, has: map[chainID]bool{}, numbers: map[chainID]map[uint64]int{}}
	require.NoError(t, b.parse(false, tool, save))
	return b
}

func TestWhatIsTakenBackDoesNotCount(t *testing.T) {
	const rule = "-A INPUT -m conntrack --ctstate INVALID -m nfacct --nfacct-name  dropped -j DROP"
	b := readBook(t, netfilter.Legacy, "*filter\n:INPUT ACCEPT [0:0]\n"+rule+"\n-A INPUT -j ACCEPT\nCOMMIT\n")
	seen := func(at string) sighting { return sighting{step: b.step(false, at), Capture: &raw.Capture{}} }
	m := newMemory()
	m.discount([]sighting{
		seen("filter:INPUT:rule:1"), seen("filter:INPUT:rule:1"), seen("filter:INPUT:policy:3"), {point: pointIn, Capture: &raw.Capture{}},
	}, netfilter.Legacy)
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
	const rules = `*nat
:PREROUTING ACCEPT [0:0]
:A:B - [0:0]
-A PREROUTING -j A:B
-A A:B -m statistic --mode random --probability 0.50000000000 -j RETURN
-A A:B -j ACCEPT
COMMIT
`
	b := readBook(t, netfilter.Legacy, rules)
	n := readBook(t, netfilter.NFT, rules)
	n.numbers[chainID{netfilter.NFT, false, "nat", "A:B"}] = map[uint64]int{40: 1, 41: 2}
	chancy := func(at string) bool {
		step := b.step(false, at)
		return b.chancy(false, &step)
	}
	assert.Equal(t, "-A PREROUTING -j A:B", b.step(false, "nat:PREROUTING:rule:1").Text())
	assert.Equal(t, netfilter.Fact{Jump: "A:B"}, b.step(false, "nat:PREROUTING:rule:1").Rule.Fact)
	assert.Empty(t, b.step(true, "nat:PREROUTING:rule:1").Text(), "another family")
	assert.Equal(t, packetsim.Step{Table: "nat", Chain: "PREROUTING", Kind: packetsim.StepPolicy, Number: 2, Policy: netfilter.Accept},
		b.step(false, "nat:PREROUTING:policy:2"))
	assert.Equal(t, "-A A:B -j ACCEPT", b.step(false, "nat:A:B:return:2").Text(),
		"the legacy tables take a rule without conditions for the end")
	assert.False(t, chancy("nat:PREROUTING:rule:1"))
	assert.True(t, chancy("nat:A:B:rule:2"), "the rule before it did not match, by chance")
	traced := func(chain string, kind packetsim.StepKind, handle uint64) string {
		step, said := n.traced(false, &nftrace.Report{Table: "nat", Chain: chain, Kind: kind, Handle: handle})
		if !said {
			return ""
		}
		return strings.TrimSpace(step.String() + " " + step.Text())
	}
	assert.Equal(t, "nat:A:B:rule:1 -A A:B -m statistic --mode random --probability 0.50000000000 -j RETURN", traced("A:B", "rule", 40))
	assert.Equal(t, "nat:A:B:return:2 -A A:B -j ACCEPT", traced("A:B", "rule", 41), "spelled as the legacy tables do")
	assert.Equal(t, "nat:A:B:return:3", traced("A:B", "rule", 0), "the end of a chain")
	assert.Equal(t, "nat:PREROUTING:policy:2", traced("PREROUTING", "policy", 0))
	assert.Empty(t, traced("PREROUTING", "rule", 0), "the policy comes next")
	assert.NoError(t, b.err)
	b.step(false, "TRACE")
	assert.ErrorContains(t, b.err, `a trace says "TRACE"`)
}

// TestRuleBookKeepsRulesThatNobodyKnows: it keeps unknown rules, and refuses lines that are no rules.
func TestRuleBookKeepsRulesThatNobodyKnows(t *testing.T) {
	const unknown = "-A PREROUTING -m geoip --source-country DE -j SOMETHING --very"
	b := readBook(t, netfilter.Legacy, "*nat\n:PREROUTING ACCEPT [0:0]\n"+unknown+"\n-A PREROUTING -j ACCEPT\nCOMMIT\n")
	assert.Equal(t, unknown, b.step(false, "nat:PREROUTING:rule:1").Text())
	assert.Equal(t, "-A PREROUTING -j ACCEPT", b.step(false, "nat:PREROUTING:rule:2").Text())

	b = &ruleBook{chains: map[chainID]*savedChain{}}
	err := b.parse(false, netfilter.Legacy, "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m tcp --very -j ACCEPT\nCOMMIT\n")
	assert.ErrorContains(t, err, "very")
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
