package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// rulesetHooks is what the rulesets of a family have at the hooks, and what else every walk asks of them, looked up once: a ruleset never
// changes.
type rulesetHooks struct {
	rules []rulesetOf // of each tools in the namespace
	// tracks: conntrack looks at the packets, because of the chain that is the user of one of the rulesets. The kernel registers its hooks
	// only while some rule of the family asks for it (nf_ct_netns_get): without such a rule there are no entries, every packet is
	// INVALID to nobody, and the chains of a loaded nat table are not run.
	tracks  bool
	nat     bool // there is a table nat, or a chain of that type
	tables  int  // rulesets of iptables that have tables
	native  bool // there are chains of nftables
	mixed   bool // several of them, or one beside chains of nftables
	entries hookEntries
	chains  hookEntries // of nat, which NAT runs
}

// rulesetOf is a ruleset of any language and its chain that makes the kernel track connections.
type rulesetOf struct {
	netfilter.Ruleset
	user conntrackUser
}

// conntrackUser is a chain with a rule that makes the kernel track connections, in the language of its ruleset; nil for none.
type conntrackUser any

// familyHooks are the hooks of IPv4 and IPv6.
type familyHooks [2]*rulesetHooks

// baseChain is a built-in chain that packets meet.
type baseChain struct {
	rules *ruleset.Ruleset
	table *ruleset.Table
	chain *ruleset.Chain
}

// newRulesetHooks looks rulesets of a family up. before are the hooks of earlier rulesets, if there were any.
func newRulesetHooks(namespace *netfilter.Namespace, f netfilter.Family, before *rulesetHooks) *rulesetHooks {
	hooks := &rulesetHooks{}
	for i, tools := range namespace.Tools() {
		of := rulesetOf{Ruleset: tools.Rules(f)}
		if before != nil && i < len(before.rules) {
			of.user = before.rules[i].user
		}
		hooks.add(of)
	}
	hooks.mixed = hooks.tables > 1 || hooks.native && hooks.tables > 0
	hooks.entries.addConntrack(hooks.tracks)
	if hooks.nat {
		hooks.chains.sort()
		hooks.entries.addNAT(&hooks.chains, hooks.chains.earliest())
	}
	hooks.entries.sort()
	return hooks
}

// add adds the chains of a ruleset. Its user is that of the ruleset in whose place it comes.
func (r *rulesetHooks) add(of rulesetOf) {
	switch rules := of.Ruleset.(type) {
	case *ruleset.Ruleset:
		before, _ := of.user.(tableUser)
		if user := tableUserOf(rules, before); user.chain != nil {
			of.user, r.tracks = user, true
		}
		r.addTables(rules)
	case *nftables.Ruleset:
		before, _ := of.user.(nftUser)
		if user := nftUserOf(rules, before); user.chain != nil {
			of.user, r.tracks = user, true
		}
		r.addNFT(rules)
	default:
		panic(fmt.Sprintf("packetsim: rules of a language that is not walked: %T", rules))
	}
	r.rules = append(r.rules, of)
}

// addTables adds the chains of a ruleset of iptables.
func (r *rulesetHooks) addTables(rules *ruleset.Ruleset) {
	if len(rules.Tables()) > 0 {
		r.tables++
	}
	r.nat = r.nat || rules.Table("nat") != nil
	for _, registered := range rules.BaseChains() {
		table := rules.Table(registered.Table)
		base := &baseChain{rules: rules, table: table, chain: table.Chain(registered.Chain)}
		one := entry{priority: registered.Priority, turn: registered.Turn}
		one.what = oneChain(HookChain{Rules: rules, Table: table, Chain: base.chain, Reroutes: registered.Table == "mangle"})
		switch registered.Table {
		case "nat":
			one.run = func(w *walk, s *skb) bool { return w.table.run(s, base) }
			r.chains.add(registered.Hook, one)
			continue
		case "mangle":
			one.run = func(w *walk, s *skb) bool { return w.mangle(s, base) }
		default:
			one.run = func(w *walk, s *skb) bool { return w.table.run(s, base) }
		}
		r.entries.add(registered.Hook, one)
	}
}

// addNFT adds the chains of nf_tables.
func (r *rulesetHooks) addNFT(rules *nftables.Ruleset) {
	for _, table := range rules.Tables() {
		if table.Flags&nftables.TableDormant != 0 {
			continue
		}
		for _, chain := range table.BaseChains() {
			at := hook(chain.Hooking.Hook)
			if at >= netfilter.NumHooks {
				continue // ingress of inet, which is a hook of devices
			}
			r.native = true
			base := &nftBase{table: table, chain: chain}
			one := entry{priority: netfilter.Priority(chain.Hooking.Priority), turn: chain.Turn}
			one.what = oneChain(HookChain{NFTTable: table, NFTChain: chain, Reroutes: chain.Hooking.Type == "route"})
			switch chain.Hooking.Type {
			case "nat":
				r.nat = true
				one.run = func(w *walk, s *skb) bool { return w.nft.run(s, base) }
				r.chains.add(at, one)
				continue
			case "route":
				one.run = func(w *walk, s *skb) bool { return w.nftRoute(s, base) }
			default:
				one.run = func(w *walk, s *skb) bool { return w.nft.run(s, base) }
			}
			r.entries.add(at, one)
		}
	}
}

// current says that the namespace still has these rulesets.
func (r *rulesetHooks) current(namespace *netfilter.Namespace, f netfilter.Family) bool {
	tools := namespace.Tools()
	if len(tools) != len(r.rules) {
		return false
	}
	for i := range tools {
		if tools[i].Rules(f) != r.rules[i].Ruleset {
			return false
		}
	}
	return true
}

// hooksOf are the hooks of the rulesets that the host has now for the packet's family; nil if it has no netfilter.
func (h *Host) hooksOf(p *inet.Packet) *rulesetHooks {
	if h.netfilter == nil {
		return nil
	}
	last, family := &h.hooks[familyIndex(p)], inet.FamilyOf(p.Dst)
	if *last == nil || !(*last).current(h.netfilter, family) {
		*last = newRulesetHooks(h.netfilter, family, *last)
	}
	return *last
}

// hooksOf are the hooks of the rulesets that the walk began with.
func (w *walk) hooksOf(p *inet.Packet) *rulesetHooks {
	hooks := &w.hooks[familyIndex(p)]
	if *hooks == nil {
		*hooks = w.h.hooksOf(p)
	}
	return *hooks
}

func familyIndex(p *inet.Packet) int {
	if p.Is6() {
		return 1
	}
	return 0
}
