package forall

import (
	"iter"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// memory is what fates that are worked out beside others find again of rules. It depends on the tables, chains and sets alone, not on the
// hosts that have them: each use compares it with what is there now.
type memory struct {
	tables    map[iptName]*tableWays
	points    map[*ruleset.Chain]*pointIndex
	nftTables map[nftName]*nftWays
	sets      map[setPlace]*setIndex
}

// nftName is what a table of nftables is called.
type nftName struct {
	family nftables.Family
	name   string
}

// trim forgets the indexes of chains that were not asked since the last time.
func (m *memory) trim() {
	for c, x := range m.points {
		if !x.asked {
			delete(m.points, c)
		}
		x.asked = false
	}
}

// setPlace is where in the keys of a set a destination is.
type setPlace struct {
	name  string
	at, n int
}

// setIndex is the elements of a set by their destination.
type setIndex struct {
	set  *nftables.Set                         // as it was
	of   map[diagram.Value]*nftables.Element   // of each destination one
	more map[diagram.Value][]*nftables.Element // and the others
	rest []*nftables.Element                   // those that are no key
}

// fewPoints is up to how many destinations are looked up one by one.
const fewPoints = 1024

// elementsTo are the elements of a set without intervals that have one of these destinations at a place of their key, or that are no key.
// They are false if it is quicker to look at all.
func (m *memory) elementsTo(s *nftables.Set, dst *run, known diagram.Set) (iter.Seq[*nftables.Element], bool) {
	if setChanges(s) {
		return nil, false
	}
	many := 0.0
	for _, in := range known {
		if many += in.Size(); many > fewPoints {
			return nil, false
		}
	}
	x := m.indexOf(s, dst)
	return func(yield func(*nftables.Element) bool) {
		for _, e := range x.rest {
			if !yield(e) {
				return
			}
		}
		for _, in := range known {
			for to := in.First; ; to = to.Next() {
				if e := x.of[to]; e != nil && !yield(e) {
					return
				}
				for _, e := range x.more[to] {
					if !yield(e) {
						return
					}
				}
				if to == in.Last {
					break
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
		x = &setIndex{of: make(map[diagram.Value]*nftables.Element, s.Len()), more: map[diagram.Value][]*nftables.Element{}}
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
	to := numberOf(dst.in(e.Key))
	if x.of[to] == nil {
		x.of[to] = e
	} else {
		x.more[to] = append(x.more[to], e)
	}
}

func (x *setIndex) remove(e *nftables.Element, dst *run) {
	same := func(other *nftables.Element) bool { return other == e }
	if e.Flags != 0 {
		x.rest = slices.DeleteFunc(x.rest, same)
		return
	}
	to := numberOf(dst.in(e.Key))
	if x.of[to] == e {
		delete(x.of, to)
	} else if left := slices.DeleteFunc(x.more[to], same); len(left) > 0 {
		x.more[to] = left
	} else {
		delete(x.more, to)
	}
}
