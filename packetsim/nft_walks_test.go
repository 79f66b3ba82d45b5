package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftWalks says whether packets can be walked through a table: nil if each expression of its rules has a meaning here, otherwise the first
// that has none, with its chain and handle. A packet may still lack what a rule asks for, as the user of a socket.
func nftWalks(table *nftables.Table) error {
	for _, chain := range table.Chains() {
		for _, rule := range chain.Rules {
			for i, x := range rule.Exprs {
				what := withoutWalk(x)
				if m, is := x.(*expr.Meta); is && m.Key == expr.MetaPRandom && new(nftOp).compileDraw(rule.Exprs[i:]) == 0 {
					what = "meta random"
				}
				if what != "" {
					return fmt.Errorf("not supported: expression %s (chain %s, handle %d)", what, chain.Name, rule.Handle)
				}
			}
		}
	}
	return nil
}

// withoutWalk names an expression that no walk has a meaning for; empty for the others.
func withoutWalk(x expr.Expr) string {
	switch x := x.(type) {
	case *expr.Meta:
		return withoutMetaWalk(x)
	case *expr.CT:
		if name := ctNames[x.Key]; name != "" && x.Key != expr.CTHelper && !(x.Writes && x.Key == expr.CTEventmask) {
			return "ct " + name
		}
	case *expr.Hash:
		if x.Symmetric {
			return "symhash"
		}
	case *expr.Exthdr:
		if x.Op == expr.ExthdrSCTP || x.Op != expr.ExthdrTCPOption && x.Writes {
			return x.Name()
		}
	case *expr.Payload:
		if x.Base == expr.InnerHeader || x.Base == expr.LinkHeader && x.Writes {
			return x.Name()
		}
	case *expr.Objref:
		if name := objectNames[x.Type]; x.Set == "" && name != "" {
			return name
		}
	case *expr.Xt, *expr.Opaque, *expr.Socket, *expr.Osf, *expr.XFRM, *expr.QueueTo, *expr.Dup, *expr.Fwd, *expr.Tproxy, *expr.Synproxy,
		*expr.FlowOffload:
		return x.Name()
	}
	return ""
}

// withoutMetaWalk is the name of a key that is not walked. Priorities and the like may be set.
func withoutMetaWalk(x *expr.Meta) string {
	name := metaNames[x.Key]
	switch x.Key {
	case expr.MetaPriority, expr.MetaNftrace, expr.MetaSecmark:
		if x.Writes {
			return ""
		}
	case expr.MetaPkttype, expr.MetaPRandom:
		if !x.Writes {
			return ""
		}
	}
	if name == "" {
		return ""
	}
	return "meta " + name
}
