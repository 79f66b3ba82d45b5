package forall

import (
	"cmp"
	"iter"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// rootAgain is the fates of a class, if they are mostly those that they stand beside. It is false if all is to be worked out.
func (f *Fates) rootAgain(p *part) (diagram.ID, bool) {
	if f.options.Against == nil {
		return 0, false
	}
	was, o := f.options.Against.part(p.family, p.class), &f.options.Against.options
	if was == nil || was.world != p.world || was.terrain == nil || o.Chance != f.options.Chance || o.Ignore != f.options.Ignore ||
		o.Memory != f.options.Memory || o.Replies || len(o.Through) > 0 {
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
	again := newAgain(p.world.store, was.root)
	for _, some := range byPorts(found) {
		if !again.take(f.builderOf(p, onlyOf(some)), some) {
			return 0, false
		}
	}
	return again.root(), true
}

// builderOf is a builder of some packets.
func (f *Fates) builderOf(p *part, packets only) *builder {
	of := func(known diagram.Set) *builder {
		b := newBuilder(p.world, p.world.newStore(), p.terrain, p.class, &f.options)
		b.only, b.sight.known = packets, known
		b.points, b.to, b.indexed = p.world.memory.pointIndexes(), packets.dst, cmp.Or(f.options.indexed, longIndexed)
		return b
	}
	first := of(packets.dst)
	scanHooks(first, false)
	return of(diagram.SetOf(slices.Concat(packets.dst, first.goals)...))
}

// byPorts are those of which some destination ports are known, and those of all ports: the first need few elements of sets that have
// one for each port of the host.
func byPorts(found []touched) (lists [][]touched) {
	var some, all []touched
	for _, t := range found {
		if t.ports == nil {
			all = append(all, t)
		} else {
			some = append(some, t)
		}
	}
	for _, list := range [][]touched{some, all} {
		if len(list) > 0 {
			lists = append(lists, list)
		}
	}
	return lists
}

// only is the packets that a builder works out; nil: all.
type only struct{ dst, ports diagram.Set }

// sight is the destinations of which a builder knows what elements of sets have, since no packet that it works out gets another one. Sets
// with an element for each service or endpoint are not read as a whole then.
type sight struct {
	known   diagram.Set // nil: all
	strayed bool        // a packet got another one, or something was asked that depends on all destinations
	early   bool        // what is scanned is met with the destination port that the packet came with
	within  map[*expr.Lookup]*boxes
	ports   map[*expr.Lookup]int // where in the key the destination port is by which elements were left out
}

// check notes if a look-up from which elements were left out by their port has another port than that of the packet.
func (s *sight) check(e *expr.Lookup, runs []run) {
	at, is := s.ports[e]
	if !is {
		return
	}
	for k := range runs {
		if r := &runs[k]; r.at < at+2 && at < r.at+r.n && r.of.kind != loadUnknown && (r.of.kind != loadField || r.of.v != vDstPort) {
			s.strayed = true
		}
	}
}

// dstRun is the destination among the bytes of a key; nil: it is not there.
func dstRun(runs []run) *run {
	for k := range runs {
		if r := &runs[k]; r.whole() && r.of.kind == loadDst && r.of.view == 1 {
			return r
		}
	}
	return nil
}

// portRuns are the destination port and the protocol among the bytes of a key; nil: it is not there.
func portRuns(runs []run) (port, proto *run) {
	for k := range runs {
		switch r := &runs[k]; {
		case !r.whole() || r.of.kind != loadField:
		case r.of.v == vDstPort:
			port = r
		case r.of.v == vProto:
			proto = r
		}
	}
	return port, proto
}

// hasPort says whether an element is met only by packets of a protocol that has ports, and with one destination port.
func hasPort(port, proto *run, e *nftables.Element) bool {
	return port != nil && proto != nil && e.Flags == 0 && len(e.KeyEnd) == 0 && max(port.at+port.n, proto.at+proto.n) <= len(e.Key) &&
		portedProtos.Has(numberOf(proto.in(e.Key)))
}

// whole says whether they are all bytes of a value.
func (r *run) whole() bool { return r.of.mask == nil && r.from == 0 && r.n == r.of.size }

// in is the bytes that one key has of them.
func (r *run) in(key []byte) []byte { return key[r.at : r.at+r.n] }

// boxesFor is the elements of a set that a look-up may meet, which has these bytes as its key.
func boxesFor(b *builder, e *expr.Lookup, s *nftables.Set, runs []run) *boxes {
	if b.sight.known == nil || s.Flags&nftables.SetInterval != 0 {
		return b.boxesOf(s)
	}
	if known := b.sight.within[e]; known != nil {
		return known
	}
	dst := dstRun(runs)
	port, proto := portRuns(runs)
	byPort := b.sight.early && b.only.ports != nil && port != nil && proto != nil
	if dst == nil && !byPort {
		return b.boxesOf(s)
	}
	if b.sight.within == nil {
		b.sight.within, b.sight.ports = map[*expr.Lookup]*boxes{}, map[*expr.Lookup]int{}
	}
	if byPort {
		b.sight.ports[e] = port.at
	}
	made := boxesIn(s, func(yield func(*nftables.Element) bool) {
		some, few := iter.Seq[*nftables.Element](nil), false
		if dst != nil {
			some, few = b.w.memory.elementsTo(s, dst, b.sight.known)
		}
		if !few {
			some = s.Unsorted()
		}
		for e := range some {
			has := e.Flags != 0 || (few || dst == nil || b.sight.known.Has(numberOf(dst.in(e.Key)))) &&
				(!byPort || !hasPort(port, proto, e) || b.only.ports.Has(numberOf(port.in(e.Key))))
			if has && !yield(e) {
				return
			}
		}
	})
	b.sight.within[e] = made
	return made
}

// meets says whether a rule may match some of them, by their destinations.
func (o *only) meets(r rule) bool {
	dst := r.destinations()
	return o.dst == nil || dst == nil || o.dst.Meets(dst)
}

// portsMeet says whether a rule may match some of them, by their destination ports.
func (o *only) portsMeet(r rule) bool {
	ipt, is := r.(*iptRule)
	if !is || o.ports == nil {
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

// again is the fates of all packets: those of other rules, but for packets that may be treated otherwise.
type again struct {
	kept  *diagram.Store
	which diagram.ID   // of roots, by destinations and ports
	roots []diagram.ID // the first is that of the other rules
}

func newAgain(kept *diagram.Store, other diagram.ID) *again {
	return &again{kept: kept, which: kept.One(0), roots: []diagram.ID{other}}
}

// take works some packets out. It is false if it cannot say.
func (g *again) take(b *builder, found []touched) bool {
	b.scan()
	kept := g.kept
	s := newSettler(b, kept)
	whole := diagram.Set{{Last: kept.Limit(vDstPort)}}
	numbers := map[int32]diagram.Atom{} // of views
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
				return false // whether a translation makes the destination another one is asked of all destinations
			case numbers[view] == 0:
				numbers[view] = diagram.Atom(len(g.roots))
				g.roots = append(g.roots, within(b, s, view))
				forget(b, &s.Copier)
			}
			here := kept.Choose(vDstPort, ports, kept.One(numbers[view]), kept.One(0))
			others := g.which
			g.which = kept.Replace(kept.Choose(vDst, in, here, kept.One(0)), func(a diagram.Atom) diagram.ID {
				if a == 0 {
					return others
				}
				return kept.One(a)
			})
		}
	}
	return !b.sight.strayed
}

func (g *again) root() diagram.ID {
	made := g.kept.Replace(g.which, func(a diagram.Atom) diagram.ID { return g.roots[a] })
	g.kept.Forget()
	return made
}
