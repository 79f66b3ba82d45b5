package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// rulesetPlan is what every walk asks of a ruleset, looked up once: a ruleset never changes.
type rulesetPlan struct {
	rules *fakeipt.Ruleset
	// tracks: conntrack looks at the packets, because of the chain user. The kernel registers its hooks only while some rule of the family
	// asks for it (nf_ct_netns_get): without such a rule there are no entries, every packet is
	// INVALID to nobody, and the chains of a loaded nat table are not run.
	tracks bool
	user   conntrackUser
	nat    bool // there is a table nat
	base   [len(hookNames)][len(stageTables)]baseChain
}

// rulesetPlans are the plans of IPv4 and IPv6.
type rulesetPlans [2]*rulesetPlan

// baseChain is a built-in chain that packets meet; the zero value is none.
type baseChain struct {
	table *fakeipt.Table
	chain *fakeipt.Chain
}

// newRulesetPlan plans a ruleset; before is the user of conntrack of an earlier one, if there was any.
func newRulesetPlan(rules *fakeipt.Ruleset, before conntrackUser) *rulesetPlan {
	user := conntrackUserOf(rules, before)
	plan := &rulesetPlan{rules: rules, tracks: user.chain != nil, user: user, nat: rules.Table("nat") != nil}
	for at, stages := range hookStages {
		for _, st := range stages {
			table := rules.Table(stageTables[st])
			if table == nil {
				continue
			}
			chain := table.Chain(hook(at).String())
			if chain != nil && (rules.Dialect() != fakeipt.NFT || table.Made(chain.Name)) {
				plan.base[at][st] = baseChain{table, chain}
			}
		}
	}
	return plan
}

// plan is the plan of the ruleset that the host has now for the packet's family; nil if it has no netfilter.
func (h *Host) plan(p *Packet) *rulesetPlan {
	rules := h.rules(p)
	if rules == nil {
		return nil
	}
	last := &h.plans[familyIndex(p)]
	if *last == nil {
		*last = newRulesetPlan(rules, conntrackUser{})
	} else if (*last).rules != rules {
		*last = newRulesetPlan(rules, (*last).user)
	}
	return *last
}

// plan is the plan of the ruleset that the walk began with.
func (w *walk) plan(p *Packet) *rulesetPlan {
	plan := &w.plans[familyIndex(p)]
	if *plan == nil {
		*plan = w.h.plan(p)
	}
	return *plan
}

func familyIndex(p *Packet) int {
	if p.Is6() {
		return 1
	}
	return 0
}
