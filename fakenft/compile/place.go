package compile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// Place is where the part of a change was written that a refusal is about: of the change of that number, from 0, among those that Command
// gives; the command as a whole if the part has no place.
func Place(c *syntax.Command, change int, part nftables.Part, index int) syntax.Loc {
	b := builder{wantPlaces: true}
	b.build(c)
	return b.places[change](part, index)
}

// places is where the part of a change was written that a refusal is about.
type places func(part nftables.Part, index int) syntax.Loc

// placedBy says where the parts of the change were written that was put last.
func (b *builder) placedBy(p places) { b.places = append(b.places, p) }

func placeOf(h *syntax.Handle, part nftables.Part, whole syntax.Loc) syntax.Loc {
	var at syntax.Loc
	switch part {
	case nftables.PartTable:
		at = h.TableLoc
	case nftables.PartChain:
		at = h.ChainLoc
	case nftables.PartName:
		at = h.NameLoc
	case nftables.PartHandle:
		at = h.NumberLoc
	case nftables.PartPlace: // nft has noted no place of it
	}
	if !at.Written() {
		return whole
	}
	return at
}

func chainPlaces(h *syntax.Handle, hook, policy, whole syntax.Loc) places {
	return func(part nftables.Part, _ int) syntax.Loc {
		switch {
		case part == nftables.PartHook && hook.Written():
			return hook
		case part == nftables.PartPolicy && policy.Written():
			return policy
		}
		return placeOf(h, part, whole)
	}
}

// declaredPlaces are the places of elements that a set is declared with.
func declaredPlaces(s *syntax.SetDecl, elements []nftables.ElementSpec, of places) places {
	return func(part nftables.Part, index int) syntax.Loc {
		if s.Loc.Written() && (part == nftables.PartName || part == nftables.PartTable && isAnonymous(s)) {
			return s.Loc // of a set that was refused itself
		}
		if part == nftables.PartElement && index == 0 && elements[0].Flags&nftables.ElementIntervalEnd != 0 && !isAnonymous(s) {
			return unwritten // the end at 0
		}
		return of(part, index)
	}
}

// elementPlaces finds the place of an element when it is asked for.
func elementPlaces(s *syntax.SetDecl, written syntax.Expr, h *syntax.Handle, whole syntax.Loc, add, first bool) places {
	return func(part nftables.Part, index int) syntax.Loc {
		if part != nftables.PartElement {
			return placeOf(h, part, whole)
		}
		var places []syntax.Loc
		new(generator).elements(s, written, add, first, &places)
		if index < len(places) && places[index].Written() {
			return places[index]
		}
		return whole
	}
}

// unlessSet are places but for that of the set: if it is not there it was refused itself, as nft would have missed it, and the whole
// command is pointed at.
func unlessSet(whole syntax.Loc, of places) places {
	return func(part nftables.Part, index int) syntax.Loc {
		if part == nftables.PartName {
			return whole
		}
		return of(part, index)
	}
}

// inTable says where the name of the table was written for the change that was put last.
func (b *builder) inTable(at syntax.Loc) {
	if !b.wantPlaces {
		return
	}
	last := &b.places[len(b.places)-1]
	of := *last
	*last = func(part nftables.Part, index int) syntax.Loc {
		if part == nftables.PartTable {
			return at
		}
		return of(part, index)
	}
}

// rulePlaces finds the place of an expression when it is asked for.
func rulePlaces(r *syntax.Rule, h *syntax.Handle, whole syntax.Loc) places {
	return func(part nftables.Part, index int) syntax.Loc {
		if part != nftables.PartExpr {
			return placeOf(h, part, whole)
		}
		again := generator{wantPlaces: true}
		again.stmts(r.Stmts)
		if index < len(again.places) && again.places[index].Written() {
			return again.places[index]
		}
		return whole
	}
}
