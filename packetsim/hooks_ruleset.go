package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// rulesetHooks is what the rulesets of a family have at the hooks, and what else every walk asks of them, looked up once: a ruleset never
// changes.
type rulesetHooks struct {
	rules []rulesetOf // of each tools in the namespace
	// tracks: conntrack looks at the packets, because of the chain that is the user of one of the rulesets. The kernel registers its hooks
	// only while some rule of the family asks for it (nf_ct_netns_get): without such a rule there are no entries, every packet is
	// INVALID to nobody, and the chains of a loaded nat table are not run.
	tracks bool
	nat    bool // there is a table nat
	// isMixed: several of the rulesets have tables.
	isMixed bool
	base    [len(hookNames)][len(stageTables)]baseChain
}

// rulesetOf is a ruleset and its chain that makes the kernel track connections.
type rulesetOf struct {
	*fakeipt.Ruleset
	user conntrackUser
}

// mixed says that the tools of both dialects have tables.
func (r *rulesetHooks) mixed() bool { return r.isMixed }

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

// newRulesetHooks looks rulesets of a family up. before are those of earlier rulesets, if there were any.
func newRulesetHooks(namespace *netfilter.Namespace, f netfilter.Family, before *rulesetHooks) *rulesetHooks {
	hooks, filled := &rulesetHooks{}, 0
	for i, tools := range namespace.Tools() {
		var user conntrackUser
		if before != nil && i < len(before.rules) {
			user = before.rules[i].user
		}
		rules := tools.Rules(f).(*fakeipt.Ruleset)
		hooks.rules = append(hooks.rules, hooks.add(rules, user))
		if len(rules.Tables()) > 0 {
			filled++
		}
	}
	hooks.isMixed = filled > 1
	return hooks
}

// current says that the rulesets are those that the namespace has now.
func (r *rulesetHooks) current(namespace *netfilter.Namespace, f netfilter.Family) bool {
	tools := namespace.Tools()
	if len(tools) != len(r.rules) {
		return false
	}
	for i := range tools {
		if tools[i].Rules(f) != netfilter.Ruleset(r.rules[i].Ruleset) {
			return false
		}
	}
	return true
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
	if h.netfilter == nil {
		return nil
	}
	last, family := &h.hooks[familyIndex(p)], FamilyOf(p.Dst)
	if *last == nil || !(*last).current(h.netfilter, family) {
		*last = newRulesetHooks(h.netfilter, family, *last)
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
