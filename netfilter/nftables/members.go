package nftables

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/internal/persist"
)

// members are the elements of a set, in one of three structures; the other two are nil. They never change, but in the transaction that
// makes them.
type members struct {
	hashed   *persist.Map[*Element] // of a set without intervals
	ordered  *persist.List[bound]   // of one with intervals: by key, an end before a beginning
	boxes    *boxes                 // of concatenations with intervals
	catchall *Element
	added    uint64 // elements, ever
	expires  bool   // some element may expire
	counts   bool   // some element has expressions

	asked atomic.Uint32            // how often packets have asked, while there is no index
	index atomic.Pointer[setIndex] // of hashed; nil until they have asked often
	stale *staleKeys               // what differs from the index; nil: nothing
}

// structure is how a set keeps its elements.
type structure uint8

const (
	hashing  structure = iota
	ordering           // net/netfilter/nft_set_rbtree.c
	boxing             // net/netfilter/nft_set_pipapo.c
)

// chosen is the structure of a set that is made (nft_select_set_ops). It keeps that one, also when a rule gives it a size later.
func (s *SetSpec) chosen() structure {
	switch {
	case s.Flags&SetInterval == 0 && s.isTree():
		return ordering
	case s.Flags&SetInterval == 0:
		return hashing
	case len(s.FieldLens) > 1:
		return boxing
	}
	return ordering
}

// isTree says whether a set without intervals is a tree nevertheless, since that takes less memory than a hash of a known size (policy
// memory; nft_select_set_ops). It takes an element for the beginning of an interval, so that none can be added behind another.
func (s *SetSpec) isTree() bool {
	isBitmap := s.KeyLen == 1 && s.Flags&(SetMap|SetObject|SetTimeout) == 0
	if s.Policy == 0 || s.Size == 0 || s.Flags&SetEval != 0 || isBitmap {
		return false
	}
	if s.Flags&SetTimeout != 0 {
		return true // a hash of a known size has none
	}
	// A hash is 8 bytes, 8 for each bucket and 32 for each element; a tree is 72 bytes and 40 for each element (Linux 6.18, 64 bits).
	buckets := uint64(1) << bits.Len64(max(uint64(s.Size)*4/3, 1)-1)
	return 72+40*uint64(s.Size) < 8+8*buckets+32*uint64(s.Size)
}

// newMembers are none yet, which may be changed.
func newMembers(of structure) *members {
	switch of {
	case ordering:
		return &members{ordered: (&persist.List[bound]{}).Edit()}
	case boxing:
		return &members{boxes: &boxes{list: (&persist.List[*Element]{}).Edit()}}
	}
	return &members{hashed: (&persist.Map[*Element]{}).Edit(0)}
}

func (m *members) structure() structure {
	switch {
	case m.boxes != nil:
		return boxing
	case m.ordered != nil:
		return ordering
	}
	return hashing
}

// edit are equal members that may be changed, with room for some more.
func (m *members) edit(extra int) *members {
	n := &members{hashed: m.hashed, ordered: m.ordered, boxes: m.boxes, catchall: m.catchall, added: m.added,
		expires: m.expires, counts: m.counts}
	switch m.structure() {
	case hashing:
		n.hashed = m.hashed.Edit(extra)
		n.inherit(m)
	case ordering:
		n.ordered = m.ordered.Edit()
	case boxing:
		n.boxes = m.boxes.edit()
	}
	return n
}

// reserve makes room for the first elements.
func (m *members) reserve(count int) {
	if m.hashed != nil && m.hashed.Len() == 0 {
		m.hashed.Reserve(count)
	}
}

// len is the number of elements without the catch-all one.
func (m *members) len() int { return m.hashed.Len() + m.ordered.Len() + m.boxes.len() }

// find is the live element that a packet's key meets.
func (m *members) find(s *SetSpec, key []byte, now time.Time) *Element {
	var e *Element
	if x := m.index.Load(); x != nil {
		e = m.byIndex(x, key)
	} else {
		e = m.meets(s, key, now)
	}
	if e != nil && (!m.expires || e.Live(now)) {
		return e
	}
	if m.catchall != nil && m.catchall.Live(now) {
		return m.catchall
	}
	return nil
}

func (m *members) meets(s *SetSpec, key []byte, now time.Time) *Element {
	switch m.structure() {
	case hashing:
		if m.hashed.Len() == 0 {
			return nil
		}
		m.noteAsked(s)
		e, _ := m.hashed.GetBytes(key)
		return e
	case ordering:
		// Of an end and a beginning at one key the beginning holds, which comes last.
		if at, any := m.ordered.Before(m.behind(key)); any {
			b, _ := m.ordered.At(at)
			if b.Flags&ElementIntervalEnd == 0 && b.Live(now) && (s.Flags&SetInterval != 0 || bytes.Equal(b.Key, key)) {
				return b.Element
			}
		}
	case boxing:
		return m.boxes.ask(s, key, now)
	}
	return nil
}

// behind is the place of the first bound behind a key.
func (m *members) behind(key []byte) persist.Place {
	prefix := prefixOf(key)
	return m.ordered.Search(func(b bound) bool { return b.compare(prefix, key) <= 0 })
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
	for b := range m.ordered.All() {
		f(b.Element)
	}
	if m.boxes != nil {
		for e := range m.boxes.list.All() {
			f(e)
		}
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
	switch m.structure() {
	case hashing:
		found, _ := m.hashed.GetBytes(e.Key)
		return found
	case ordering:
		if found := m.at(m.place(e)); found != nil && compareOrdered(found, e) == 0 {
			return found
		}
	case boxing:
		// The kernel looks for the key as for that of a packet.
		return m.boxes.find(s, e.Key, time.Time{})
	}
	return nil
}

func (m *members) place(e *Element) persist.Place {
	prefix := prefixOf(e.Key)
	return m.ordered.Search(func(b bound) bool {
		return cmp.Or(b.compare(prefix, e.Key), cmp.Compare(e.Flags&ElementIntervalEnd, b.Flags&ElementIntervalEnd)) < 0
	})
}

// at is the element of a place; nil behind the last one.
func (m *members) at(p persist.Place) *Element {
	b, _ := m.ordered.At(p)
	return b.Element
}

// before is the element before a place; nil before the first one.
func (m *members) before(p persist.Place) *Element {
	p, any := m.ordered.Before(p)
	if !any {
		return nil
	}
	return m.at(p)
}

// bound is a beginning or an end of an interval, with the beginning of its key as a number.
type bound struct {
	prefix uint64
	*Element
}

// prefixBytes is how many bytes of a key its prefix has.
const prefixBytes = 8

func prefixOf(key []byte) uint64 {
	if len(key) >= prefixBytes {
		return binary.BigEndian.Uint64(key)
	}
	prefix := uint64(0)
	for i, b := range key {
		prefix |= uint64(b) << (prefixBytes*8 - 8 - 8*i)
	}
	return prefix
}

func (b bound) compare(prefix uint64, key []byte) int {
	if b.prefix != prefix || len(key) <= prefixBytes {
		return cmp.Compare(b.prefix, prefix)
	}
	return bytes.Compare(b.Key, key)
}

// clash is the element that keeps a new one from being added, or EEXIST if the new one overlaps with others without being one of them.
func (m *members) clash(s *Set, e *Element, now time.Time) (*Element, syscall.Errno) {
	if e.Flags&ElementCatchall != 0 {
		return m.catchall, 0
	}
	switch m.structure() {
	case ordering:
		return m.clashOrdered(s, e)
	case boxing:
		return m.boxes.clash(&s.SetSpec, e, now)
	}
	return m.exact(&s.SetSpec, e), 0
}

// clashOrdered follows __nft_rbtree_insert: an interval's beginning and its end are added one after the other.
func (m *members) clashOrdered(s *Set, e *Element) (*Element, syscall.Errno) {
	at := m.place(e)
	next, before := m.at(at), m.before(at)
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
		if before != nil && isEnd(before) || next != nil && isEnd(next) && !s.goneBetween(e, next) {
			return nil, syscall.EEXIST
		}
	case before != nil && !isEnd(before) && s.Flags&SetAnonymous == 0:
		return nil, syscall.EEXIST
	}
	return nil, 0
}

// goneBetween says that a bound which the transaction has deleted is between two others. The kernel begins its search for overlaps at the
// first bound behind a new one, a deleted one too, and does not see those behind it (__nft_rbtree_insert).
func (s *Set) goneBetween(e, next *Element) bool {
	at, _ := slices.BinarySearchFunc(s.gone, e, compareOrdered)
	for at < len(s.gone) && bytes.Equal(s.gone[at].Key, e.Key) {
		at++
	}
	return at < len(s.gone) && bytes.Compare(s.gone[at].Key, next.Key) < 0
}

// isNull says that an element is the end at 0, which belongs to no interval and may be created again (nft_rbtree_interval_null).
func (m *members) isNull(e *Element) bool {
	return m.structure() == ordering && e.Flags&ElementIntervalEnd != 0 && len(bytes.Trim(e.Key, "\x00")) == 0
}

// endsBegun says that an element of intervals can be deleted: an end that follows a beginning in a change must be that interval's own.
func (m *members) endsBegun(s *Set, e *Element) bool {
	if m.structure() != ordering {
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
	before := m.before(m.place(e))
	return before == nil || compareOrdered(before, begun) < 0
}

// put adds an element, or puts it in the place of the one that it is.
func (m *members) put(s *SetSpec, e *Element, old *Element) {
	if old != nil {
		e.order = old.order
	} else {
		m.added++
		e.order = m.added
	}
	m.expires, m.counts = m.expires || !e.Deadline.IsZero(), m.counts || len(e.Exprs) > 0
	if e.Flags&ElementCatchall != 0 {
		m.catchall = e
		return
	}
	switch m.structure() {
	case hashing:
		m.changes(e.Key)
		m.hashed.Put(string(e.Key), e)
	case ordering:
		at, b := m.place(e), bound{prefixOf(e.Key), e}
		if old != nil {
			m.ordered.Set(at, b)
			return
		}
		m.ordered.Insert(at, b)
	case boxing:
		m.boxes.put(s, e, old)
	}
}

// remove takes an element out that is there.
func (m *members) remove(s *SetSpec, e *Element) {
	if e.Flags&ElementCatchall != 0 {
		m.catchall = nil
		return
	}
	switch m.structure() {
	case hashing:
		m.changes(e.Key)
		m.hashed.Remove(string(e.Key))
	case ordering:
		m.ordered.Remove(m.place(e))
	case boxing:
		m.boxes.remove(s, e)
	}
}
