package decompile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// Source is the table that rules and sets are of.
type Source interface {
	Family() nftables.Family
	// Set is a set or map by its name, with its handle; nil if there is none.
	Set(name string) (spec *nftables.SetSpec, handle uint64)
	// Elements are those of a set, in any order.
	Elements(name string) []*nftables.Element
	// Chain is a chain with its rules; nil if there is none.
	Chain(name string) (spec *nftables.ChainSpec, rules []*nftables.Rule)
}

// state is a table of a nftables.State.
type state struct {
	table *nftables.Table
	now   time.Time
}

func (s state) Family() nftables.Family { return s.table.Family }

func (s state) Set(name string) (*nftables.SetSpec, uint64) {
	set := s.table.Set(name)
	if set == nil {
		return nil, 0
	}
	return &set.SetSpec, set.Handle
}

func (s state) Elements(name string) []*nftables.Element {
	if set := s.table.Set(name); set != nil {
		return set.Elements(s.now)
	}
	return nil
}

func (s state) Chain(name string) (*nftables.ChainSpec, []*nftables.Rule) {
	c := s.table.Chain(name)
	if c == nil {
		return nil, nil
	}
	return &c.ChainSpec, c.Rules
}

// Of decompiles what a table has at a moment, which decides on what elements have expired.
func Of(t *nftables.Table, now time.Time) *Decompiler { return New(state{t, now}, now) }

// Table is a table with all that it has.
func Table(t *nftables.Table, now time.Time) *syntax.TableDecl {
	d := Of(t, now)
	decl := d.Table(&t.TableSpec, t.Handle)
	for _, o := range t.Objects() {
		decl.Objects = append(decl.Objects, d.Object(&o.ObjectSpec, o.Handle))
	}
	for _, s := range t.Sets() {
		if s.Flags&nftables.SetAnonymous == 0 {
			decl.Sets = append(decl.Sets, d.Set(s.Name))
		}
	}
	for _, f := range t.Flowtables() {
		decl.Flows = append(decl.Flows, d.Flowtable(&f.FlowtableSpec, f.Handle))
	}
	for _, c := range t.Chains() {
		chain := d.Chain(&c.ChainSpec, c.Handle)
		chain.Rules = d.Rules(c.Rules, c.Name)
		decl.Chains = append(decl.Chains, chain)
	}
	return decl
}
