package nftables

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"syscall"
	"time"
)

// box is the first live element in whose ranges the parts of a key are.
func (m *members) box(s *SetSpec, key []byte, now time.Time) *Element {
	if m.boxIndex != nil && len(m.boxes) > fewBoxes {
		return m.boxIndex.find(m, s, key, now)
	}
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

// fewBoxes is up to how many elements all are looked at.
const fewBoxes = 16

// boxIndex finds elements of a concatenation with intervals by one of its parts. It is made when it is first asked.
type boxIndex struct {
	once     sync.Once
	from, to int        // where the part is in a key
	sorted   []*Element // by where the part's range begins
	reach    [][]byte   // the greatest end of the part's ranges up to each of sorted
}

// build takes the part in which the ranges begin at most different places.
func (x *boxIndex) build(m *members, s *SetSpec) {
	most, at := -1, 0
	for _, length := range s.FieldLens {
		begins := map[string]bool{}
		for _, e := range m.boxes {
			begins[string(e.Key[at:at+int(length)])] = true
		}
		if len(begins) > most {
			most, x.from, x.to = len(begins), at, at+int(length)
		}
		at += (int(length) + 3) &^ 3
	}
	x.sorted = slices.Clone(m.boxes)
	slices.SortStableFunc(x.sorted, func(a, b *Element) int { return bytes.Compare(a.Key[x.from:x.to], b.Key[x.from:x.to]) })
	x.reach = make([][]byte, len(x.sorted))
	for i, e := range x.sorted {
		x.reach[i] = e.last()[x.from:x.to]
		if i > 0 && bytes.Compare(x.reach[i-1], x.reach[i]) > 0 {
			x.reach[i] = x.reach[i-1]
		}
	}
}

func (x *boxIndex) find(m *members, s *SetSpec, key []byte, now time.Time) *Element {
	x.once.Do(func() { x.build(m, s) })
	part := key[x.from:x.to]
	low, high := 0, len(x.sorted)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if bytes.Compare(x.sorted[middle].Key[x.from:x.to], part) <= 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	var first *Element
	for i := low - 1; i >= 0 && bytes.Compare(x.reach[i], part) >= 0; i-- {
		e := x.sorted[i]
		if e.holds(s.FieldLens, key) && e.Live(now) && (first == nil || cmp.Less(e.order, first.order)) {
			first = e
		}
	}
	return first
}
