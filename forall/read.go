package forall

import (
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
)

// readChains are the chains of either language that were looked at.
type readChains struct {
	s      *diagram.Store
	chains map[any]*chain
	// typesOf is the destinations that a match of types of addresses may match.
	typesOf func(xtables.Match) (diagram.Set, bool)
	// points finds the rules that may match some destinations in chains of so many rules; nil: all rules are read. Behind a translation all
	// are.
	points  map[*ruleset.Chain]*pointIndex
	indexed int
	to      diagram.Set
	whole   bool
}

// baseOf is the chain of a hook.
func (read *readChains) baseOf(h *packetsim.HookChain) *chain {
	if h.Chain != nil {
		c := read.iptChain(h.Rules, h.Table, h.Chain)
		c.drops = h.Chain.Policy == ruleset.PolicyDrop
		return c
	}
	c := read.nftChain(h.NFTTable, h.NFTChain)
	c.drops = h.NFTChain.Policy != nil && *h.NFTChain.Policy == expr.Drop
	return c
}

// jumpTo is the chain of a name that a rule of another chain leads to; nil: it is not there.
func (read *readChains) jumpTo(c *chain, name string) *chain {
	if c.table != nil {
		if to := c.table.Chain(name); to != nil {
			return read.iptChainOf(c.table, to, c.family, c.dialect)
		}
		return nil
	}
	if to := c.nftTable.Chain(name); to != nil {
		return read.nftChain(c.nftTable, to)
	}
	return nil
}

// ledTo is jumpTo for a chain that a rule leads to. Rules of iptables lead to one.
func (read *readChains) ledTo(c *chain, of rule, name string) *chain {
	r, is := of.(*iptRule)
	if !is {
		return read.jumpTo(c, name)
	}
	if r.to == nil {
		r.to = read.jumpTo(c, name)
	}
	return r.to
}
