package packetsim

import (
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftUser is a conntrackUser of nf_tables: a chain of a table, or a table with a set of which an element asks for it. Without a chain there
// is none.
type nftUser struct {
	family nftables.Family
	table  string
	chain  *nftables.Chain
}

// nftUserOf finds such a chain. The one that a ruleset before this one had is probably still there. Tables of bridges make conntrack look
// at the packets of IP too (nf_ct_netns_get in net/netfilter/nf_conntrack_proto.c).
func nftUserOf(rules *nftables.Ruleset, before nftUser) nftUser {
	if before.chain != nil {
		if t := rules.State.Table(before.family, before.table); t != nil && t.Chain(before.chain.Name) == before.chain {
			return before
		}
	}
	for _, t := range rules.State.Tables() {
		if !reaches(t.Family, rules.Family) {
			continue
		}
		for _, c := range t.Chains() {
			if slices.ContainsFunc(c.Rules, func(r *nftables.Rule) bool { return asksForConntrack(r.Exprs, rules.Family) }) {
				return nftUser{t.Family, t.Name, c}
			}
		}
	}
	return nftUser{}
}

// reaches says whether expressions of a table's family can make conntrack look at the packets of a family.
func reaches(of nftables.Family, packets netfilter.Family) bool {
	switch of {
	case nftables.Inet, nftables.Bridge:
		return true
	case nftables.IPv4:
		return packets == netfilter.IPv4
	case nftables.IPv6:
		return packets == netfilter.IPv6
	}
	return false
}

// asksForConntrack says whether one of the expressions does, when it is loaded (the init functions in net/netfilter/nft_*.c).
func asksForConntrack(exprs []expr.Expr, packets netfilter.Family) bool {
	return slices.ContainsFunc(exprs, func(x expr.Expr) bool {
		nat, is := x.(*expr.NAT)
		return x.Reads().Has(netfilter.ReadsConnection) && (!is || (nat.Family == ipv6Family) == (packets == netfilter.IPv6))
	})
}
