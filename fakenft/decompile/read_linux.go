package decompile

import (
	"time"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/nftnetlink"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// read is a table that was read from the real kernel.
type read struct {
	table *nftnetlink.Table
	sets  map[string]*nftnetlink.Set
	// chains are those without a name alone.
	chains map[string]*nftnetlink.Chain
}

func (r read) Family() nftables.Family { return r.table.Family }

func (r read) Set(name string) (*nftables.SetSpec, uint64) {
	if s := r.sets[name]; s != nil {
		return &s.SetSpec, s.Handle
	}
	return nil, 0
}

func (r read) Elements(name string) []*nftables.Element {
	if s := r.sets[name]; s != nil {
		return s.Elements
	}
	return nil
}

func (r read) Chain(name string) (*nftables.ChainSpec, []*nftables.Rule) {
	if c := r.chains[name]; c != nil {
		return &c.ChainSpec, c.Rules
	}
	return nil, nil
}

// Read are the tables that were read from the real kernel at a moment.
func Read(ruleset *nftnetlink.Ruleset, now time.Time) []*syntax.TableDecl {
	list := make([]*syntax.TableDecl, 0, len(ruleset.Tables))
	for _, t := range ruleset.Tables {
		list = append(list, readTable(t, now))
	}
	return list
}

func readTable(t *nftnetlink.Table, now time.Time) *syntax.TableDecl {
	source := read{t, make(map[string]*nftnetlink.Set, len(t.Sets)), map[string]*nftnetlink.Chain{}}
	for _, c := range t.Chains {
		if c.Flags&nftables.ChainBinding != 0 {
			source.chains[c.Name] = c
		}
	}
	for _, s := range t.Sets {
		source.sets[s.Name] = s
	}
	d := New(source, now)
	decl := d.Table(&t.TableSpec, t.Handle)
	for _, o := range t.Objects {
		decl.Objects = append(decl.Objects, d.Object(&o.ObjectSpec, o.Handle))
	}
	for _, s := range t.Sets {
		if s.Flags&nftables.SetAnonymous == 0 {
			decl.Sets = append(decl.Sets, d.Set(s.Name))
		}
	}
	for _, f := range t.Flowtables {
		decl.Flows = append(decl.Flows, d.Flowtable(&f.FlowtableSpec, f.Handle))
	}
	for _, c := range t.Chains {
		chain := d.Chain(&c.ChainSpec, c.Handle)
		chain.Rules = d.Rules(c.Rules, c.Name)
		decl.Chains = append(decl.Chains, chain)
	}
	return decl
}
