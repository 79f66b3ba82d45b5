package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// rulesetHooks is what a ruleset has at the hooks, and what else every walk asks of it, looked up once: a ruleset never changes.
type rulesetHooks struct {
	rules *fakeipt.Ruleset
	// tracks: conntrack looks at the packets, because of the chain user. The kernel registers its hooks only while some rule of the family
	// asks for it (nf_ct_netns_get): without such a rule there are no entries, every packet is
	// INVALID to nobody, and the chains of a loaded nat table are not run.
	tracks bool
	user   conntrackUser
	nat    bool // there is a table nat
	base   [len(hookNames)][len(stageTables)]baseChain
}

// familyHooks are those of IPv4 and IPv6.
type familyHooks [2]*rulesetHooks

// baseChain is a built-in chain that packets meet; the zero value is none.
type baseChain struct {
	table *fakeipt.Table
	chain *fakeipt.Chain
}

// newRulesetHooks looks a ruleset up; before is the user of conntrack of an earlier one, if there was any.
func newRulesetHooks(rules *fakeipt.Ruleset, before conntrackUser) *rulesetHooks {
	user := conntrackUserOf(rules, before)
	hooks := &rulesetHooks{rules: rules, tracks: user.chain != nil, user: user, nat: rules.Table("nat") != nil}
	for at, stages := range hookStages {
		for _, st := range stages {
			table := rules.Table(stageTables[st])
			if table == nil {
				continue
			}
			chain := table.Chain(hook(at).String())
			if chain != nil && (rules.Dialect() != fakeipt.NFT || table.Made(chain.Name)) {
				hooks.base[at][st] = baseChain{table, chain}
			}
		}
	}
	return hooks
}

// hooksOf are those of the ruleset that the host has now for the packet's family; nil if it has no netfilter.
func (h *Host) hooksOf(p *Packet) *rulesetHooks {
	rules := h.rules(p)
	if rules == nil {
		return nil
	}
	last := &h.hooks[familyIndex(p)]
	if *last == nil {
		*last = newRulesetHooks(rules, conntrackUser{})
	} else if (*last).rules != rules {
		*last = newRulesetHooks(rules, (*last).user)
	}
	return *last
}

// hooksOf are those of the ruleset that the walk began with.
func (w *walk) hooksOf(p *Packet) *rulesetHooks {
	hooks := &w.hooks[familyIndex(p)]
	if *hooks == nil {
		*hooks = w.h.hooksOf(p)
	}
	return *hooks
}

func familyIndex(p *Packet) int {
	if p.Is6() {
		return 1
	}
	return 0
}
