package nftables

import (
	"github.com/chainwalk/chainwalk/netfilter"
)

// Of is the nf_tables of a namespace, which nft and iptables-nft share. It joins the namespace when it is first asked for.
func Of(n *netfilter.Namespace) *Kernel {
	is := func(t netfilter.Tools) bool {
		_, is := t.(*Kernel)
		return is
	}
	return n.JoinOnce(is, func() netfilter.Tools {
		k := New(n.Clock(), n.NextTurn)
		k.space = n
		return k
	}).(*Kernel)
}

// In is the nf_tables of a namespace if it has joined it; nil if nobody has asked for it yet.
func In(n *netfilter.Namespace) *Kernel {
	for _, t := range n.Tools() {
		if k, is := t.(*Kernel); is {
			return k
		}
	}
	return nil
}

// Ruleset is a state as packets of one family meet it: the tables of that family and those of inet.
type Ruleset struct {
	State  *State
	Family netfilter.Family
}

// Ruleset is the state as packets of a family meet it: always the same pointer.
func (s *State) Ruleset(f netfilter.Family) *Ruleset {
	if f == netfilter.IPv6 {
		return &s.rulesets[1]
	}
	return &s.rulesets[0]
}

// Rules is the state as it is now, as packets of a family meet it: a *Ruleset.
func (k *Kernel) Rules(f netfilter.Family) netfilter.Ruleset { return k.State().Ruleset(f) }

// Tables are the tables that packets of the family meet.
func (r *Ruleset) Tables() []*Table {
	own := IPv4
	if r.Family == netfilter.IPv6 {
		own = IPv6
	}
	var tables []*Table
	for _, t := range r.State.tables {
		if t.Family == own || t.Family == Inet {
			tables = append(tables, t)
		}
	}
	return tables
}

// BaseChains are the chains of the ruleset that packets meet at the hooks, in no order. A dormant table has none.
func (r *Ruleset) BaseChains() []netfilter.BaseChain {
	var chains []netfilter.BaseChain
	for _, t := range r.Tables() {
		if t.Flags&TableDormant != 0 {
			continue
		}
		for _, c := range t.bases {
			if c.Hooking.Hook >= netfilter.NumHooks {
				continue // ingress of inet
			}
			chains = append(chains, netfilter.BaseChain{Dialect: netfilter.NFT, Table: t.Name, Chain: c.Name,
				Hook: netfilter.Hook(c.Hooking.Hook), Priority: netfilter.Priority(c.Hooking.Priority), Turn: c.Turn})
		}
	}
	return chains
}

// CountSets adds nothing: rules of nftables do not name sets of ipset, but for matches of x_tables.
func (r *Ruleset) CountSets(map[string]int) {}

// NoteAccounts notes nothing: rules of nftables do not name accounting objects, but for matches of x_tables.
func (r *Ruleset) NoteAccounts(map[string]bool) {}
