package forall

import (
	"iter"
	"maps"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftWays are the ways of a table of nftables, as it was when it was asked for last: chains lead to others, and ask for sets, whose
// elements lead to chains.
type nftWays struct {
	ways
	six     bool
	table   *nftables.Table
	targets map[diagram.Value]int32 // notes of chains by what they translate destinations to
	any     int32                   // those that may translate to others, too
	maps    map[string]*verdictIndex
}

// nftWaysIn are the ways of a table, for packets of a family.
func nftWaysIn(t *nftables.Table, six bool) *nftWays {
	chains := t.Chains()
	w := &nftWays{ways: newWays(len(chains)), six: six, table: t, targets: map[diagram.Value]int32{}, maps: map[string]*verdictIndex{}}
	for _, c := range chains {
		w.addChain(c, t)
	}
	for _, set := range t.Sets() {
		for e := range verdicts(set) {
			w.addElement(set, e)
		}
	}
	w.atFirst = len(w.notes)
	return w
}

// addChain notes where a chain leads, for which sets it asks, and what it translates destinations to.
func (w *nftWays) addChain(c *nftables.Chain, t *nftables.Table) {
	from := w.chain(c.Name)
	for _, r := range c.Rules {
		for _, x := range r.Exprs {
			switch x := x.(type) {
			case *expr.Immediate:
				if v := x.Data.Verdict; v != nil && leads(v) {
					w.note(w.chain(v.Chain), from)
				}
			case *expr.Lookup:
				set := t.Set(x.Set)
				if set == nil || set.Flags&nftables.SetAnonymous == 0 {
					w.note(w.set(x.Set), from)
					continue
				}
				for e := range verdicts(set) {
					if leads(e.Data.Verdict) {
						w.note(w.chain(e.Data.Verdict.Chain), from)
					}
				}
			}
		}
	}
	w.addTargets(from, c, t)
}

// addTargets notes what a chain translates destinations to.
func (w *nftWays) addTargets(from int32, c *nftables.Chain, t *nftables.Table) {
	for _, r := range c.Rules {
		to, others := targetsOf(r, t, w.six)
		for _, addr := range to {
			at := w.targets[addr]
			w.add(&at, from)
			w.targets[addr] = at
		}
		if others {
			w.add(&w.any, from)
		}
	}
}

// addElement notes where an element of a map leads.
func (w *nftWays) addElement(of *nftables.Set, e *nftables.Element) {
	if of.Flags&nftables.SetAnonymous == 0 && e.Data != nil && e.Data.Verdict != nil && leads(e.Data.Verdict) {
		w.note(w.chain(e.Data.Verdict.Chain), w.set(of.Name))
	}
}

// follow notes the ways of a table in which some chains and sets are not the same.
func (w *nftWays) follow(now *nftables.Table, chains, sets []string) {
	for _, name := range chains {
		if c := now.Chain(name); c != nil {
			w.addChain(c, now)
		}
	}
	for _, name := range sets {
		if set := now.Set(name); set != nil && set.Flags&nftables.SetMap != 0 {
			w.followMap(now, set)
		}
	}
	w.table = now
}

// followMap notes where the elements of a map lead that its table did not have, and what chains translate destinations to by its elements.
func (w *nftWays) followMap(now *nftables.Table, set *nftables.Set) {
	was := w.table.Set(set.Name)
	switch {
	case set.DataType != nftables.DataVerdict:
		for _, from := range w.all(w.from[w.set(set.Name)]) {
			if c := now.Chain(w.spots[from].chain); c != nil {
				w.addTargets(from, c, now)
			}
		}
	case was == nil:
		for e := range verdicts(set) {
			w.addElement(set, e)
		}
	default:
		was.Differing(set, func(_, e *nftables.Element) {
			if e != nil {
				w.addElement(set, e)
			}
		})
	}
}

// touch finds the chains and sets that are touched.
func (p *tablePair) touch() {
	chains, sets := p.chains, p.named
	m, name := &p.c.w.memory, nftName{p.now.Family, p.now.Name}
	known := m.nftTables[name]
	switch {
	case known == nil || known.stale():
		known = nftWaysIn(p.now, p.c.six)
		if m.nftTables == nil {
			m.nftTables = map[nftName]*nftWays{}
		}
		m.nftTables[name] = known
	case known.table == p.old:
		known.follow(p.now, chains, sets)
	case known.table != p.now:
		other := &tablePair{c: p.c, old: known.table, now: p.now, sets: map[string]*setPair{}}
		more, moreSets := other.changed()
		known.follow(p.now, more, moreSets)
	}
	var ids []int32
	for _, name := range chains {
		ids = append(ids, known.chain(name))
	}
	for _, name := range sets {
		ids = append(ids, known.set(name))
	}
	if len(p.c.moves.to) > 0 {
		ids = append(ids, known.translating(p.c.moves.to)...)
	}
	p.ways, p.touched = known, known.to(ids)
}

// changed are the names of the chains and of the sets with names that are not the same in both tables.
func (p *tablePair) changed() (chains, sets []string) {
	all, named := p.now.Differing(p.old)
	for _, name := range all {
		a, b := p.old.Chain(name), p.now.Chain(name)
		if a == nil || b == nil || !slices.EqualFunc(a.Rules, b.Rules, p.sameRule) {
			chains = append(chains, name)
		}
	}
	for _, name := range named {
		a, b := p.old.Set(name), p.now.Set(name)
		if isAnonymous(a) || isAnonymous(b) {
			continue // it belongs to a rule
		}
		if pair := p.set(name); pair == nil || !pair.comparable || len(pair.differing) > 0 {
			sets = append(sets, name)
		}
	}
	return chains, sets
}

func isAnonymous(s *nftables.Set) bool { return s != nil && s.Flags&nftables.SetAnonymous != 0 }

// translating are the chains that may translate destinations to some.
func (w *nftWays) translating(to diagram.Set) []int32 {
	out := w.all(w.any)
	for _, in := range to {
		if in.Size() <= fewPoints {
			for addr := in.First; ; addr = addr.Next() {
				if out = append(out, w.all(w.targets[addr])...); addr == in.Last {
					break
				}
			}
			continue
		}
		for addr, notes := range w.targets {
			if in.Has(addr) {
				out = append(out, w.all(notes)...)
			}
		}
	}
	return out
}

// verdictIndex is the elements of a map by the chains that they lead to.
type verdictIndex struct {
	set *nftables.Set // as it was
	of  map[string][]*nftables.Element
}

// leading are the elements of a map that lead to chains which are touched.
func (p *tablePair) leading(set *nftables.Set) iter.Seq[*nftables.Element] {
	if set.Flags&nftables.SetAnonymous == 0 && set.Len() > len(p.touched) && !setChanges(set) {
		of := p.ways.verdictsOf(set)
		return func(yield func(*nftables.Element) bool) {
			for _, at := range slices.SortedFunc(maps.Keys(p.touched), spot.compare) {
				for _, e := range of[at.chain] {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
	return func(yield func(*nftables.Element) bool) {
		for e := range verdicts(set) {
			if leads(e.Data.Verdict) && !p.alike(e.Data.Verdict.Chain) && !yield(e) {
				return
			}
		}
	}
}

// verdictsOf is the elements of a map that lead to chains, by these. The index of the map as it was before takes what has changed.
func (w *nftWays) verdictsOf(s *nftables.Set) map[string][]*nftables.Element {
	chainOf := func(e *nftables.Element) (string, bool) {
		if e == nil || e.Data == nil || e.Data.Verdict == nil || !leads(e.Data.Verdict) {
			return "", false
		}
		return e.Data.Verdict.Chain, true
	}
	x := w.maps[s.Name]
	if x == nil || x.set.Flags != s.Flags || x.set.DataType != s.DataType {
		x = &verdictIndex{of: make(map[string][]*nftables.Element, s.Len())}
		for e := range verdicts(s) {
			if to, does := chainOf(e); does {
				x.of[to] = append(x.of[to], e)
			}
		}
		w.maps[s.Name] = x
	} else {
		x.set.Differing(s, func(was, is *nftables.Element) {
			if to, did := chainOf(was); did {
				x.of[to] = slices.DeleteFunc(x.of[to], func(e *nftables.Element) bool { return e == was })
				if len(x.of[to]) == 0 {
					delete(x.of, to)
				}
			}
			if to, does := chainOf(is); does {
				x.of[to] = append(x.of[to], is)
			}
		})
	}
	x.set = s.Frozen()
	return x.of
}

// targetsOf are the destinations to which a rule may translate, and whether it may translate to others, too.
func targetsOf(r *nftables.Rule, t *nftables.Table, six bool) (to []diagram.Value, others bool) {
	if !slices.ContainsFunc(r.Exprs, movesDst) {
		return nil, false // its sets need not be read
	}
	size := 4
	if six {
		size = 16
	}
	take := func(d *expr.Data) {
		if d != nil && len(d.Bytes) >= size {
			to = append(to, numberOf(d.Bytes[:size]))
		}
	}
	for _, x := range r.Exprs {
		switch x := x.(type) {
		case *expr.Redir:
			return nil, true
		case *expr.Immediate:
			take(&x.Data)
		case *expr.Lookup:
			if set := t.Set(x.Set); x.Map && set != nil {
				for e := range set.Unsorted() {
					take(e.Data)
				}
			}
		}
	}
	return to, len(to) == 0
}

// movesDst says whether an expression translates destinations.
func movesDst(x expr.Expr) bool {
	nat, is := x.(*expr.NAT)
	_, redirects := x.(*expr.Redir)
	return redirects || is && !nat.Source
}
