package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// rulesetHooks is what the rulesets of a family have at the hooks, and what else every walk asks of them, looked up once: a ruleset never
// changes.
type rulesetHooks struct {
	rules  rulesetOf
	beside rulesetOf // of the other dialect; the zero value is none
	// tracks: conntrack looks at the packets, because of the chain that is the user of one of the rulesets. The kernel registers its hooks
	// only while some rule of the family asks for it (nf_ct_netns_get): without such a rule there are no entries, every packet is
	// INVALID to nobody, and the chains of a loaded nat table are not run.
	tracks bool
	nat    bool // there is a table nat
	base   [len(hookNames)][len(stageTables)]baseChain
}

// rulesetOf is a ruleset and its chain that makes the kernel track connections.
type rulesetOf struct {
	*fakeipt.Ruleset
	user conntrackUser
}

// mixed says that the tools of both dialects have tables.
func (r *rulesetHooks) mixed() bool {
	return r.beside.Ruleset != nil && len(r.rules.Tables()) > 0 && len(r.beside.Tables()) > 0
}

// familyHooks are those of IPv4 and IPv6.
type familyHooks [2]*rulesetHooks

// baseChain is a built-in chain that packets meet; the zero value is none.
type baseChain struct {
	rules *fakeipt.Ruleset
	table *fakeipt.Table
	chain *fakeipt.Chain
	// next is the chain of the other dialect's tools in the same hook and with the same priority; nil if there is none.
	next *baseChain
}

// newRulesetHooks looks rulesets up; beside is nil if there is no other dialect. before are those of earlier rulesets, if there were any.
func newRulesetHooks(rules, beside *fakeipt.Ruleset, before *rulesetHooks) *rulesetHooks {
	if before == nil {
		before = &rulesetHooks{}
	}
	hooks := &rulesetHooks{}
	hooks.rules = hooks.add(rules, before.rules.user)
	if beside != nil {
		hooks.beside = hooks.add(beside, before.beside.user)
	}
	return hooks
}

func (r *rulesetHooks) add(rules *fakeipt.Ruleset, before conntrackUser) rulesetOf {
	of := rulesetOf{rules, conntrackUserOf(rules, before)}
	r.tracks = r.tracks || of.user.chain != nil
	r.nat = r.nat || rules.Table("nat") != nil
	for at, stages := range hookStages {
		for _, st := range stages {
			table := rules.Table(stageTables[st])
			if table == nil {
				continue
			}
			chain := table.Chain(hook(at).String())
			if chain != nil && (rules.Dialect() != netfilter.NFT || table.Made(chain.Name)) {
				r.base[at][st].add(baseChain{rules: rules, table: table, chain: chain})
			}
		}
	}
	return of
}

// add puts another chain into the hook: the one that the kernel was given last goes first.
func (b *baseChain) add(other baseChain) {
	if b.chain == nil {
		*b = other
		return
	}
	first := *b
	if other.table.Registered(other.chain.Name) > first.table.Registered(first.chain.Name) {
		first, other = other, first
	}
	first.next = &other
	*b = first
}

// hooksOf are those of the rulesets that the host has now for the packet's family; nil if it has no netfilter.
func (h *Host) hooksOf(p *Packet) *rulesetHooks {
	rules := h.rules(p)
	if rules == nil {
		return nil
	}
	var beside *fakeipt.Ruleset
	if other := h.netfilter.Beside(); other != nil {
		beside = other.Ruleset(rules.Family())
	}
	last := &h.hooks[familyIndex(p)]
	if *last == nil || (*last).rules.Ruleset != rules || (*last).beside.Ruleset != beside {
		*last = newRulesetHooks(rules, beside, *last)
	}
	return *last
}

// hooksOf are those of the rulesets that the walk began with.
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
