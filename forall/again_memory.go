package forall

import (
	"iter"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// memory is what fates that are worked out beside others find again of rules of nftables. It depends on the sets and chains alone, not on
// the hosts that have them: each use compares it with what is there now.
type memory struct {
	sets   map[setPlace]*setIndex
	chains map[*nftables.Chain]*gist
	asked  int // for chains since the last trim
}

// setPlace is where in the keys of a set a destination is.
type setPlace struct {
	name  string
	at, n int
}

// setIndex is the elements of a set by their destination.
type setIndex struct {
	set  *nftables.Set // as it was
	of   map[string][]*nftables.Element
	rest []*nftables.Element // those that are no key
}

// fewPoints is up to how many destinations are looked up one by one.
const fewPoints = 1024

// elementsTo are the elements of a set without intervals that have one of these destinations at a place of their key, or that are no key.
// They are false if it is quicker to look at all.
func (m *memory) elementsTo(s *nftables.Set, dst *run, known diagram.Set) (iter.Seq[*nftables.Element], bool) {
	isRange := func(i diagram.Interval) bool { return i.First != i.Last }
	if setChanges(s) || len(known) > fewPoints || slices.ContainsFunc(known, isRange) {
		return nil, false
	}
	x := m.indexOf(s, dst)
	return func(yield func(*nftables.Element) bool) {
		for _, e := range x.rest {
			if !yield(e) {
				return
			}
		}
		for _, point := range known {
			for _, e := range x.of[string(bytesOf(point.First, dst.n))] {
				if !yield(e) {
					return
				}
			}
		}
	}, true
}

// indexOf is the index of a set. That of the set as it was before takes what has changed.
func (m *memory) indexOf(s *nftables.Set, dst *run) *setIndex {
	place := setPlace{name: s.Name, at: dst.at, n: dst.n}
	x := m.sets[place]
	if x == nil || x.set.KeyLen != s.KeyLen || x.set.Flags != s.Flags {
		x = &setIndex{of: make(map[string][]*nftables.Element, s.Len())}
		for e := range s.Unsorted() {
			x.add(e, dst)
		}
		if m.sets == nil {
			m.sets = map[setPlace]*setIndex{}
		}
		m.sets[place] = x
	} else {
		x.set.Differing(s, func(was, is *nftables.Element) {
			if was != nil {
				x.remove(was, dst)
			}
			if is != nil {
				x.add(is, dst)
			}
		})
	}
	x.set = s.Frozen()
	return x
}

func (x *setIndex) add(e *nftables.Element, dst *run) {
	if e.Flags != 0 {
		x.rest = append(x.rest, e)
		return
	}
	key := dst.in(e.Key)
	x.of[string(key)] = append(x.of[string(key)], e)
}

func (x *setIndex) remove(e *nftables.Element, dst *run) {
	same := func(other *nftables.Element) bool { return other == e }
	if e.Flags != 0 {
		x.rest = slices.DeleteFunc(x.rest, same)
		return
	}
	key := string(dst.in(e.Key))
	if left := slices.DeleteFunc(x.of[key], same); len(left) > 0 {
		x.of[key] = left
	} else {
		delete(x.of, key)
	}
}

// gist is what the comparison of two tables needs of a chain that both have.
type gist struct {
	named bool            // it asks for a set that has a name
	sets  []*nftables.Set // the others
	leads []string        // chains
	to    []diagram.Value // what it may translate destinations to
	toAny bool            // it may translate to others, too
}

// fewChains is up to how many chains nothing is forgotten.
const fewChains = 1024

// trim forgets chains if most of them were not asked for since the last time.
func (m *memory) trim() {
	if len(m.chains) > 2*m.asked+fewChains {
		m.chains = nil
	}
	m.asked = 0
}

// gistOf is the gist of a chain of a table.
func (c *changes) gistOf(of *nftables.Chain, t *nftables.Table) *gist {
	m := &c.w.memory
	m.asked++
	known := m.chains[of]
	if known != nil {
		return known
	}
	known = &gist{}
	for _, r := range of.Rules {
		for _, x := range r.Exprs {
			switch x := x.(type) {
			case *expr.Immediate:
				if v := x.Data.Verdict; v != nil && leads(v) {
					known.leads = append(known.leads, v.Chain)
				}
			case *expr.Lookup:
				set := t.Set(x.Set)
				if set == nil || set.Flags&nftables.SetAnonymous == 0 {
					known.named = true
					continue
				}
				known.sets = append(known.sets, set)
				for e := range verdicts(set) {
					if leads(e.Data.Verdict) {
						known.leads = append(known.leads, e.Data.Verdict.Chain)
					}
				}
			}
		}
		to, any := c.targetsOf(r, t)
		known.to, known.toAny = append(known.to, to...), known.toAny || any
	}
	if m.chains == nil {
		m.chains = map[*nftables.Chain]*gist{}
	}
	m.chains[of] = known
	return known
}

// alikeByGist is alike for a chain that is one Chain in both tables and asks for no sets that have names. It is false if the chain is none.
func (p *tablePair) alikeByGist(a, b *nftables.Chain) (same, known bool) {
	if a != b || a == nil {
		return false, false
	}
	of := p.c.gistOf(a, p.now)
	if of.named {
		return false, false
	}
	for _, set := range of.sets {
		if p.old.Set(set.Name) != set || p.now.Set(set.Name) != set {
			return false, false
		}
	}
	to := p.c.moves.to
	if len(to) > 0 && (of.toAny || slices.ContainsFunc(of.to, to.Has)) {
		return false, true
	}
	for _, name := range of.leads {
		if !p.alike(name) {
			return false, true
		}
	}
	return true, true
}
