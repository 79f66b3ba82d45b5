package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// NFTWalks says whether packets can be walked through a table: nil if each expression of its rules has a meaning here, otherwise the first
// that has none, with its chain and handle. A packet may still lack what a rule asks for, as the user of a socket.
func NFTWalks(table *nftables.Table) error {
	for _, chain := range table.Chains() {
		for _, rule := range chain.Rules {
			for _, x := range rule.Exprs {
				if what := withoutWalk(x); what != "" {
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
		if name := metaNames[x.Key]; name != "" && x.Key != expr.MetaPkttype && !(x.Writes && x.Key != expr.MetaBroute) {
			return "meta " + name
		}
	case *expr.CT:
		if name := ctNames[x.Key]; name != "" && x.Key != expr.CTHelper && !(x.Writes && x.Key == expr.CTEventmask) {
			return "ct " + name
		}
	case *expr.Hash:
		if x.Symmetric {
			return "symhash"
		}
	case *expr.Xt, *expr.Opaque, *expr.Socket, *expr.Osf, *expr.XFRM, *expr.QueueTo, *expr.Dup, *expr.Fwd, *expr.Tproxy, *expr.Synproxy,
		*expr.FlowOffload:
		return x.Name()
	}
	return ""
}
