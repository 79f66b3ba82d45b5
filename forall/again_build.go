package forall

import (
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// rootAgain is the fates of a class, if they are mostly those that they stand beside. It is false if all is to be worked out.
func (f *Fates) rootAgain(p *part) (diagram.ID, bool) {
	if f.options.Beside == nil {
		return 0, false
	}
	was, o := f.options.Beside.part(p.family, p.class), &f.options.Beside.options
	if was == nil || was.world != p.world || was.terrain == nil || o.Chance != f.options.Chance || o.Ignore != f.options.Ignore ||
		o.Replies || len(o.Through) > 0 {
		return 0, false
	}
	found, known := changesOf(p.world, was.terrain, p.terrain, p.class)
	switch {
	case !known:
		return 0, false
	case len(found) == 0:
		return was.root, true
	}
	if slices.ContainsFunc(found, func(t touched) bool { return t.dst == nil }) {
		return 0, false
	}
	of := func(known diagram.Set) *builder {
		b := newBuilder(p.world, p.world.newStore(), p.terrain, p.class, &f.options)
		b.only, b.sight.known = onlyOf(found), known
		return b
	}
	first := of(onlyOf(found).dst)
	scanHooks(first, false, map[*chain]bool{})
	b := of(diagram.SetOf(slices.Concat(first.only.dst, first.goals)...))
	root, known := rootBut(b, p.world.store, was.root, found)
	return root, known && !b.sight.strayed
}

// only is the packets that a builder works out; nil: all.
type only struct{ dst, ports diagram.Set }

// sight is the destinations of which a builder knows what elements of sets have, since no packet that it works out gets another one. Sets
// with an element for each service or endpoint are not read as a whole then.
type sight struct {
	known   diagram.Set // nil: all
	strayed bool        // a packet got another one, or something was asked that depends on all destinations
	within  map[*expr.Lookup]*boxes
}

// boxesFor is the elements of a set that a look-up may meet, which has these bytes as its key.
func boxesFor(b *builder, e *expr.Lookup, s *nftables.Set, runs []run) *boxes {
	if b.sight.known == nil || s.Flags&nftables.SetInterval != 0 {
		return b.boxesOf(s)
	}
	if known := b.sight.within[e]; known != nil {
		return known
	}
	for k := range runs {
		r := &runs[k]
		if r.of.kind != loadDst || r.of.view != 1 || r.of.mask != nil || r.from != 0 || r.n != r.of.size {
			continue
		}
		made := boxesIn(s, func(e *nftables.Element) bool {
			return e.Flags != 0 || b.sight.known.Has(numberOf(e.Key[r.at:r.at+r.n]))
		})
		if b.sight.within == nil {
			b.sight.within = map[*expr.Lookup]*boxes{}
		}
		b.sight.within[e] = made
		return made
	}
	return b.boxesOf(s)
}

// meets says whether a rule may match some of them, by their destinations.
func (o *only) meets(r rule) bool {
	dst := r.destinations()
	return o.dst == nil || dst == nil || o.dst.Meets(dst)
}

// portsMeet says whether a rule may match some of them, by their destination ports.
func (o *only) portsMeet(r rule) bool {
	ipt, is := r.(*iptRule)
	if !is {
		return true
	}
	of := destinationPorts(ipt.Rule)
	return of == nil || o.ports.Meets(of)
}

// onlyOf is the packets of all of a list.
func onlyOf(found []touched) (o only) {
	var dst, ports []diagram.Interval
	anyPort := false
	for _, t := range found {
		dst, ports = append(dst, t.dst...), append(ports, t.ports...)
		anyPort = anyPort || t.ports == nil
	}
	if o.dst = diagram.SetOf(dst...); !anyPort {
		o.ports = diagram.SetOf(ports...)
	}
	return o
}

// rootBut is the fates of all packets: those of other rules, but for packets that may be treated otherwise. It is false if it cannot say.
func rootBut(b *builder, kept *diagram.Store, other diagram.ID, found []touched) (diagram.ID, bool) {
	b.scan()
	c := diagram.Copier{To: kept, From: b.s, As: func(a diagram.Atom) diagram.Atom { return a }}
	whole := diagram.Set{{Last: kept.Limit(vDstPort)}}
	which, roots, numbers := kept.One(0), []diagram.ID{other}, map[int32]diagram.Atom{} // of views
	for _, t := range found {
		ports := t.ports
		if ports == nil {
			ports = whole
		}
		for i := range b.slices {
			in := t.dst.And(diagram.Set{b.slices[i].Interval})
			view := b.slices[i].view
			switch {
			case len(in) == 0:
				continue
			case b.leftOut && b.goalViews[view]:
				return 0, false // whether a translation makes the destination another one is asked of all destinations
			case numbers[view] == 0:
				numbers[view] = diagram.Atom(len(roots))
				roots = append(roots, c.Copy(b.walkFrom(view)))
				forget(b, &c)
			}
			here := kept.Choose(vDstPort, ports, kept.One(numbers[view]), kept.One(0))
			others := which
			which = kept.Replace(kept.Choose(vDst, in, here, kept.One(0)), func(a diagram.Atom) diagram.ID {
				if a == 0 {
					return others
				}
				return kept.One(a)
			})
		}
	}
	made := kept.Replace(which, func(a diagram.Atom) diagram.ID { return roots[a] })
	kept.Forget()
	return made, true
}
