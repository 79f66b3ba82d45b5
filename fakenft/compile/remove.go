package compile

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func (b *builder) remove() {
	c := b.command
	h := &c.Handle
	switch c.Kind {
	case syntax.KindTable:
		b.put(&nftables.DeleteTable{Family: h.Family, Name: h.Table, Handle: h.Number}, h)
	case syntax.KindChain:
		b.put(&nftables.DeleteChain{Family: h.Family, Table: h.Table, Name: h.Chain, Handle: h.Number}, h)
	case syntax.KindRule:
		b.put(&nftables.DeleteRule{Family: h.Family, Table: h.Table, Chain: h.Chain, Handle: h.Number}, h)
	case syntax.KindSet, syntax.KindMap, syntax.KindMeter:
		b.put(&nftables.DeleteSet{Family: h.Family, Table: h.Table, Name: h.Name, Handle: h.Number}, h)
	case syntax.KindElements:
		b.removeElements()
	case syntax.KindFlowtable:
		if c.Flow != nil && c.Flow.Hook != nil {
			b.refuse("deleting devices of flowtables")
			return
		}
		b.put(&nftables.DeleteFlowtable{Family: h.Family, Table: h.Table, Name: h.Name, Handle: h.Number}, h)
	default:
		kind := objects[c.Kind]
		b.put(&nftables.DeleteObject{Family: h.Family, Table: h.Table, Name: h.Name, Type: kind, Handle: h.Number}, h)
	}
}

func (b *builder) removeElements() {
	c := b.command
	h := &c.Handle
	if c.Set == nil {
		b.fail(fmt.Errorf("elements of %s: its declaration is not known", h.Name))
		return
	}
	elements, err := Elements(c.Set, c.Elements)
	if err != nil {
		b.fail(err)
		return
	}
	if len(elements) == 0 {
		return // the kernel has none of them yet
	}
	b.changes = append(b.changes, &nftables.DeleteElements{Family: h.Family, Table: h.Table, Set: h.Name, Elements: elements})
	if b.wantPlaces {
		b.placedBy(unlessSet(c.Loc, elementPlaces(c.Set, c.Elements, h, c.Loc, false, false)))
	}
}

// Elements are the kernel's elements of those that are written, for a set that has some already: what "delete element" and "get element"
// ask for.
func Elements(s *syntax.SetDecl, written syntax.Expr) ([]nftables.ElementSpec, error) {
	g := &generator{}
	elements := g.elements(s, written, false, false, nil)
	return elements, g.err
}

func (b *builder) flush() {
	c := b.command
	h := &c.Handle
	switch c.Kind {
	case syntax.KindRuleset:
		b.put(&nftables.DeleteTable{Family: h.Family}, h)
	case syntax.KindTable, syntax.KindChain:
		b.put(&nftables.DeleteRule{Family: h.Family, Table: h.Table, Chain: h.Chain}, h)
	case syntax.KindSet, syntax.KindMap, syntax.KindMeter:
		b.changes = append(b.changes, &nftables.DeleteElements{Family: h.Family, Table: h.Table, Set: h.Name})
		if b.wantPlaces {
			b.placedBy(unlessSet(c.Loc, func(part nftables.Part, _ int) syntax.Loc { return placeOf(h, part, c.Loc) }))
		}
	}
}
