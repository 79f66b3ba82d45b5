package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestDecisionOf reads the steps of walks.
func TestDecisionOf(t *testing.T) {
	nat := func(rules string) string {
		return "*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n:MASQUERADE-NONE - [0:0]\n" + rules + "COMMIT\n"
	}
	filter := func(policy, rules string) string {
		return "*filter\n:FORWARD " + policy + " [0:0]\n:DROP-NONE - [0:0]\n" + rules + "COMMIT\n"
	}
	dnat := "-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.12\n"
	for _, row := range []struct {
		name, rules       string
		verdict           Verdict
		with              string
		last, translation string
		source            bool
	}{
		{"nothing", filter("ACCEPT", ""), Accept, "", "filter:FORWARD:policy:1", "", false},
		{"a policy drops", filter("DROP", ""), Drop, "", "filter:FORWARD:policy:1", "", false},
		{"a rule drops", filter("ACCEPT", "-A FORWARD -p tcp -j DROP\n"), Drop, "", "filter:FORWARD:rule:1", "", false},
		{"a rule without conditions drops", filter("ACCEPT", "-A FORWARD -j DROP\n"), Drop, "", "filter:FORWARD:policy:1", "", false},
		{"a rule accepts before the policy", filter("DROP", "-A FORWARD -p tcp -j ACCEPT\n"), Accept, "", "filter:FORWARD:rule:1", "", false},
		{"a chain whose name begins with a verdict", filter("ACCEPT", "-A FORWARD -j DROP-NONE\n"),
			Accept, "", "filter:FORWARD:policy:2", "", false},
		{"a rule rejects", filter("ACCEPT", "-A FORWARD -p tcp -j REJECT --reject-with tcp-reset\n"),
			Reject, "tcp-reset", "filter:FORWARD:rule:1", "", false},
		{"a rule rejects as usual", filter("ACCEPT", "-A FORWARD -j REJECT\n"),
			Reject, "icmp-port-unreachable", "filter:FORWARD:rule:1", "", false},
		{"translated and dropped", nat(dnat) + filter("DROP", ""), Drop, "", "filter:FORWARD:policy:1", "nat:PREROUTING:rule:1", false},
		{"translated at both ends", nat(dnat + "-A POSTROUTING -p tcp -j MASQUERADE\n"),
			Accept, "", "nat:POSTROUTING:rule:1", "nat:PREROUTING:rule:1", true},
		{"redirected, so that POSTROUTING is not met",
			nat("-A PREROUTING -d 10.96.0.1/32 -j REDIRECT\n-A POSTROUTING -p tcp -j SNAT --to-source 10.9.9.9\n"),
			Accept, "", "nat:INPUT:policy:1", "nat:PREROUTING:rule:1", false},
		{"a chain whose name begins with a target", nat("-A POSTROUTING -j MASQUERADE-NONE\n-A POSTROUTING -d 10.9.9.9/32 -j MASQUERADE\n"),
			Accept, "", "nat:POSTROUTING:policy:3", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h, _ := testNode{rules4: row.rules}.build(t)
			dst := "10.244.0.12"
			if row.translation != "" {
				dst = "10.96.0.1"
			}
			d := DecisionOf(walkOne(t, h, "tcp 10.244.0.11:1 > "+dst+":80 in veth1").Steps)
			name := func(s *Step) string {
				if s == nil {
					return ""
				}
				return s.String()
			}
			assert.Equal(t, []any{row.verdict, row.with, row.last, row.translation, row.source},
				[]any{d.Verdict, d.RejectWith, name(d.Last), name(d.Translation), d.SourceTranslated})
		})
	}
}

func TestDecisionOfSeveralHosts(t *testing.T) {
	masquerade := []Step{{Table: "nat",
		Rule: &netfilter.Rule{Fact: netfilter.Fact{Translation: netfilter.Translation{Kind: netfilter.SNAT, Of: netfilter.Source}}}}}
	drop := []Step{{Table: "filter", Kind: StepPolicy, Policy: netfilter.Drop}}
	d := DecisionOf(masquerade, drop)
	assert.True(t, d.SourceTranslated)
	assert.Equal(t, Drop, d.Verdict)
	assert.Same(t, &drop[0], d.Last)
	d = DecisionOf(drop, nil)
	assert.Equal(t, Accept, d.Verdict, "the last host has no rules")
	assert.Nil(t, d.Last)
	assert.Equal(t, Decision{Verdict: Accept}, DecisionOf())
}
