package nftables

import (
	"iter"
	"sync/atomic"
)

// Unsorted are the elements of a set, expired ones too, in no order. To sort them takes longer than to look at each.
func (s *Set) Unsorted() iter.Seq[*Element] {
	return func(yield func(*Element) bool) {
		more := true
		s.members.Load().each(func(e *Element) { more = more && yield(e) })
	}
}

// Frozen is the set as it is now. Elements that packets add and delete later do not change it.
func (s *Set) Frozen() *Set {
	same := *s
	same.members = &atomic.Pointer[members]{}
	same.members.Store(s.members.Load())
	return &same
}

// Differing calls f for each key whose Element is not the same one in two sets, with both elements: nil stands for a set that has none.
// If commits have made one set out of the other, f gets the elements that they changed. If the sets have no intervals, Differing then looks
// at little more than these.
func (s *Set) Differing(other *Set, f func(here, there *Element)) {
	a, b := s.members.Load(), other.members.Load()
	switch {
	case a == b:
		return
	case a.structure() == hashing && b.structure() == hashing:
		a.hashed.Differing(b.hashed, func(_ string, x, y *Element) { f(x, y) })
		if a.catchall != b.catchall {
			f(a.catchall, b.catchall)
		}
		return
	}
	type place struct {
		key, end string
		flags    ElementFlags
	}
	placeOf := func(e *Element) place { return place{string(e.Key), string(e.KeyEnd), e.Flags} }
	there := map[place]*Element{}
	b.each(func(e *Element) { there[placeOf(e)] = e })
	a.each(func(e *Element) {
		at := placeOf(e)
		if same := there[at]; same != e {
			f(e, same)
		}
		delete(there, at)
	})
	b.each(func(e *Element) {
		if there[placeOf(e)] == e {
			f(nil, e)
		}
	})
}

// Differing gives the names of the chains and sets that are not the same pointers in another table, in no order. If commits have made one
// table out of the other, these are the chains and sets that the commits changed, and the cost grows with their number alone.
func (t *Table) Differing(other *Table) (chains, sets []string) {
	t.chains.Differing(other.chains, func(name string, here, there chainEntry) {
		if here.chain != there.chain {
			chains = append(chains, name)
		}
	})
	t.sets.Differing(other.sets, func(name string, here, there setEntry) {
		if here.set != there.set {
			sets = append(sets, name)
		}
	})
	return chains, sets
}
