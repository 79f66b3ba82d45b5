package nftables

import (
	"bytes"
	"cmp"
	"slices"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/internal/persist"
)

// members are the elements of a set. They never change, but in the transaction that makes them.
type members struct {
	hashed   *persist.Map[*Element]  // of a set without intervals
	ordered  *persist.List[*Element] // of one with intervals: by key, an end before a beginning
	boxes    []*Element              // of concatenations with intervals, in the order in which they were added
	catchall *Element
	added    uint64 // elements, ever
}

// structure is how a set keeps its elements.
type structure uint8

const (
	hashing  structure = iota
	ordering           // net/netfilter/nft_set_rbtree.c
	boxing             // net/netfilter/nft_set_pipapo.c
)

func (s *SetSpec) structure() structure {
	switch {
	case s.Flags&SetInterval == 0:
		return hashing
	case len(s.FieldLens) > 1:
		return boxing
	}
	return ordering
}

func newMembers() *members {
	return &members{hashed: &persist.Map[*Element]{}, ordered: &persist.List[*Element]{}}
}

// edit are equal members that may be changed, with room for some more.
func (m *members) edit(of structure, extra int) *members {
	n := *m
	switch of {
	case hashing:
		n.hashed = m.hashed.Edit(extra)
	case ordering:
		n.ordered = m.ordered.Edit()
	case boxing:
		n.boxes = slices.Grow(slices.Clip(m.boxes), extra)
		if extra == 0 {
			n.boxes = slices.Clone(m.boxes)
		}
	}
	return &n
}

// len is the number of elements without the catch-all one.
func (m *members) len() int { return m.hashed.Len() + m.ordered.Len() + len(m.boxes) }

// find is the live element that a packet's key meets.
func (m *members) find(s *SetSpec, key []byte, now time.Time) *Element {
	if e := m.meets(s, key, now); e != nil {
		return e
	}
	if m.catchall != nil && m.catchall.Live(now) {
		return m.catchall
	}
	return nil
}

func (m *members) meets(s *SetSpec, key []byte, now time.Time) *Element {
	switch s.structure() {
	case hashing:
		if e, _ := m.hashed.GetBytes(key); e != nil && e.Live(now) {
			return e
		}
	case ordering:
		// Of an end and a beginning at one key the beginning holds, which comes last.
		at := m.ordered.Search(func(e *Element) bool { return bytes.Compare(e.Key, key) <= 0 })
		if at, any := m.ordered.Before(at); any {
			if e, _ := m.ordered.At(at); e.Flags&ElementIntervalEnd == 0 && e.Live(now) {
				return e
			}
		}
	case boxing:
		return m.box(s, key, now)
	}
	return nil
}

// box is the first live element in whose ranges the parts of a key are.
func (m *members) box(s *SetSpec, key []byte, now time.Time) *Element {
	for _, e := range m.boxes {
		if e.holds(s.FieldLens, key) && e.Live(now) {
			return e
		}
	}
	return nil
}

// holds says that each part of a key is in the element's range.
func (e *Element) holds(fields []uint8, key []byte) bool {
	end, at := e.last(), 0
	for _, length := range fields {
		next := at + int(length)
		if bytes.Compare(key[at:next], e.Key[at:next]) < 0 || bytes.Compare(key[at:next], end[at:next]) > 0 {
			return false
		}
		at += (int(length) + 3) &^ 3
	}
	return true
}

// last is the last key of a concatenation with intervals.
func (e *Element) last() []byte {
	if e.KeyEnd != nil {
		return e.KeyEnd
	}
	return e.Key
}

// compareOrdered compares elements of a set with intervals: by key, an end before a beginning.
func compareOrdered(a, b *Element) int {
	return cmp.Or(bytes.Compare(a.Key, b.Key), cmp.Compare(b.Flags&ElementIntervalEnd, a.Flags&ElementIntervalEnd))
}

// each calls f for all elements, expired ones too, in no order that means anything.
func (m *members) each(f func(*Element)) {
	m.hashed.Each(func(_ string, e *Element) bool {
		f(e)
		return true
	})
	for e := range m.ordered.All() {
		f(e)
	}
	for _, e := range m.boxes {
		f(e)
	}
	if m.catchall != nil {
		f(m.catchall)
	}
}

// all are the live elements.
func (m *members) all(now time.Time) []*Element {
	all := make([]*Element, 0, m.len()+1)
	m.each(func(e *Element) {
		if e.Live(now) {
			all = append(all, e)
		}
	})
	if m.hashed.Len() > 0 {
		slices.SortFunc(all, func(a, b *Element) int {
			return cmp.Or(cmp.Compare(a.Flags&ElementCatchall, b.Flags&ElementCatchall), cmp.Compare(a.order, b.order))
		})
	}
	return all
}

// exact is the element that is e but for what it maps to and how long it lives: expired ones too.
func (m *members) exact(s *SetSpec, e *Element) *Element {
	if e.Flags&ElementCatchall != 0 {
		return m.catchall
	}
	switch s.structure() {
	case hashing:
		found, _ := m.hashed.GetBytes(e.Key)
		return found
	case ordering:
		if found, _ := m.ordered.At(m.place(e)); found != nil && compareOrdered(found, e) == 0 {
			return found
		}
	case boxing:
		// The kernel looks for the key as for that of a packet.
		return m.box(s, e.Key, time.Time{})
	}
	return nil
}

func (m *members) place(e *Element) persist.Place {
	return m.ordered.Search(func(other *Element) bool { return compareOrdered(other, e) < 0 })
}

// clash is the element that keeps a new one from being added, or EEXIST if the new one overlaps with others without being one of them.
func (m *members) clash(s *Set, e *Element, now time.Time) (*Element, syscall.Errno) {
	if e.Flags&ElementCatchall != 0 {
		return m.catchall, 0
	}
	switch s.structure() {
	case ordering:
		return m.clashOrdered(s, e)
	case boxing:
		return m.clashBox(&s.SetSpec, e, now)
	}
	return m.exact(&s.SetSpec, e), 0
}

// clashOrdered follows __nft_rbtree_insert: an interval's beginning and its end are added one after the other.
func (m *members) clashOrdered(s *Set, e *Element) (*Element, syscall.Errno) {
	at := m.place(e)
	next, _ := m.ordered.At(at)
	var before *Element
	if at, any := m.ordered.Before(at); any {
		before, _ = m.ordered.At(at)
	}
	isEnd := func(e *Element) bool { return e.Flags&ElementIntervalEnd != 0 }
	switch {
	case next != nil && compareOrdered(next, e) == 0:
		begun := s.begun
		if s.begun = next; isEnd(e) {
			s.begun = nil
		}
		if isEnd(e) && begun != nil && before != begun {
			return nil, syscall.EEXIST
		}
		return next, 0
	case isEnd(e):
		if before != nil && isEnd(before) || next != nil && isEnd(next) {
			return nil, syscall.EEXIST
		}
	case before != nil && !isEnd(before) && s.Flags&SetAnonymous == 0:
		return nil, syscall.EEXIST
	}
	return nil, 0
}

// endsBegun says that an element of intervals can be deleted: an end that follows a beginning in a change must be that interval's own.
func (m *members) endsBegun(s *Set, e *Element) bool {
	if s.structure() != ordering {
		return true
	}
	begun := s.ended
	if e.Flags&ElementIntervalEnd == 0 {
		s.ended = e
		return true
	}
	s.ended = nil
	if begun == nil {
		return true
	}
	at, any := m.ordered.Before(m.place(e))
	before, _ := m.ordered.At(at)
	return !any || compareOrdered(before, begun) < 0
}

// clashBox follows nft_pipapo_insert, which looks at both ends of the new element alone: it does not see one that lies within the new one.
func (m *members) clashBox(s *SetSpec, e *Element, now time.Time) (*Element, syscall.Errno) {
	if found := m.box(s, e.Key, now); found != nil {
		if bytes.Equal(found.Key, e.Key) && bytes.Equal(found.last(), e.last()) {
			return found, 0
		}
		return nil, syscall.EEXIST
	}
	if m.box(s, e.last(), now) != nil {
		return nil, syscall.EEXIST
	}
	at := 0
	for _, length := range s.FieldLens {
		next := at + int(length)
		if bytes.Compare(e.Key[at:next], e.last()[at:next]) > 0 {
			return nil, syscall.EINVAL
		}
		at += (int(length) + 3) &^ 3
	}
	return nil, 0
}

// put adds an element, or puts it in the place of the one that it is.
func (m *members) put(s *SetSpec, e *Element, old *Element) {
	if old != nil {
		e.order = old.order
	} else {
		m.added++
		e.order = m.added
	}
	if e.Flags&ElementCatchall != 0 {
		m.catchall = e
		return
	}
	switch s.structure() {
	case hashing:
		m.hashed.Put(string(e.Key), e)
	case ordering:
		at := m.place(e)
		if old != nil {
			m.ordered.Set(at, e)
			return
		}
		m.ordered.Insert(at, e)
	case boxing:
		if old != nil {
			m.boxes[slices.Index(m.boxes, old)] = e
			return
		}
		m.boxes = append(m.boxes, e)
	}
}

// remove takes an element out that is there.
func (m *members) remove(s *SetSpec, e *Element) {
	if e.Flags&ElementCatchall != 0 {
		m.catchall = nil
		return
	}
	switch s.structure() {
	case hashing:
		m.hashed.Remove(string(e.Key))
	case ordering:
		m.ordered.Remove(m.place(e))
	case boxing:
		m.boxes = slices.DeleteFunc(m.boxes, func(other *Element) bool { return other == e })
	}
}
