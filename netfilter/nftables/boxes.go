package nftables

import (
	"bytes"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/internal/persist"
)

// boxes are the elements of a concatenation with intervals: each is a range in every part of a key. They never change, but in the
// transaction that makes them.
type boxes struct {
	list *persist.List[*Element] // in the order in which they were added
	// trees have the elements, the larger trees first, but for the recent ones. If a tree has others than the list, dead is not 0.
	trees  []*boxTree
	recent []*Element
	dead   int

	asked atomic.Uint32           // how often packets have asked, while there is no whole
	whole atomic.Pointer[boxTree] // of all elements; nil until packets have asked often
}

// mostRecent is how many elements are looked at one by one.
const mostRecent = 16

// len is the number of elements; those of a set of another kind are nil.
func (b *boxes) len() int {
	if b == nil {
		return 0
	}
	return b.list.Len()
}

// edit are equal boxes that may be changed.
func (b *boxes) edit() *boxes {
	n := &boxes{list: b.list.Edit(), trees: slices.Clone(b.trees), recent: slices.Clone(b.recent), dead: b.dead}
	if whole := b.whole.Load(); whole != nil {
		n.trees, n.recent, n.dead = []*boxTree{whole}, nil, 0
	}
	return n
}

// place is where an element of that order is, or would be.
func (b *boxes) place(order uint64) persist.Place {
	return b.list.Search(func(e *Element) bool { return e.order < order })
}

// put adds an element, or puts it in the place of the one that it is.
func (b *boxes) put(s *SetSpec, e, old *Element) {
	if old != nil {
		b.list.Set(b.place(e.order), e)
		if i := slices.Index(b.recent, old); i >= 0 {
			b.recent[i] = e
		} else {
			b.dead++
		}
		return
	}
	b.list.Append(e)
	if b.recent = append(b.recent, e); len(b.recent) < mostRecent {
		return
	}
	// A tree takes in those before it that are not much larger, so that each element moves a few times.
	items := b.recent
	for last := len(b.trees) - 1; last >= 0 && len(b.trees[last].items) <= 2*len(items); last-- {
		for _, e := range b.trees[last].items {
			if e = b.current(e); e != nil {
				items = append(items, e)
			}
		}
		b.trees = b.trees[:last]
	}
	b.trees, b.recent = append(b.trees, newBoxTree(s, items)), nil
}

// current is what an element of a tree is now; nil if it was removed.
func (b *boxes) current(e *Element) *Element {
	if b.dead == 0 {
		return e
	}
	if now, found := b.list.At(b.place(e.order)); found && now.order == e.order {
		return now
	}
	return nil
}

// remove takes an element out that is there.
func (b *boxes) remove(s *SetSpec, e *Element) {
	b.list.Remove(b.place(e.order))
	if i := slices.Index(b.recent, e); i >= 0 {
		b.recent = slices.Delete(b.recent, i, i+1)
		return
	}
	if b.dead++; b.dead > b.list.Len()/2+mostRecent {
		b.trees, b.recent, b.dead = []*boxTree{newBoxTree(s, b.list.Values())}, nil, 0
	}
}

// ask is find for a packet.
func (b *boxes) ask(s *SetSpec, key []byte, now time.Time) *Element {
	if b.whole.Load() == nil {
		if n := b.asked.Add(1); n >= leastAsked && int(n)*askedPerAll >= b.list.Len() {
			b.whole.CompareAndSwap(nil, newBoxTree(s, b.list.Values()))
		}
	}
	return b.find(s, key, now)
}

// find is the first live element in whose ranges the parts of a key are.
func (b *boxes) find(s *SetSpec, key []byte, now time.Time) *Element {
	best := newBestBox(s, key, now)
	if whole := b.whole.Load(); whole != nil {
		whole.look(&best, 0)
		return best.element
	}
	if b.dead > 0 {
		best.of = b
	}
	for _, t := range b.trees {
		t.look(&best, 0)
	}
	best.of = nil
	for _, e := range b.recent {
		best.take(e)
	}
	return best.element
}

// bestBox is the best answer so far to the question for a key.
type bestBox struct {
	fields  []uint8
	key     []byte
	parts   [maxParts]uint64 // the beginning of each part of the key (prefixOf)
	now     time.Time
	of      *boxes // that have changed since the trees were made; nil: nothing has
	element *Element
}

// maxParts is how many parts a key can have: one for each register that holds a part (NFT_REG32_COUNT).
const maxParts = 16

func newBestBox(s *SetSpec, key []byte, now time.Time) bestBox {
	best := bestBox{fields: s.FieldLens, key: key, now: now}
	at := 0
	for i, length := range s.FieldLens {
		best.parts[i] = prefixOf(key[at : at+int(length)])
		at += paddedLen(length)
	}
	return best
}

// take takes an element if it holds the key and came before the best so far.
func (b *bestBox) take(e *Element) {
	if !e.holds(b.fields, b.key) {
		return
	}
	if b.of != nil {
		if e = b.of.current(e); e == nil {
			return
		}
	}
	if e.Live(b.now) && (b.element == nil || e.order < b.element.order) {
		b.element = e
	}
}

// holds says that each part of a key is in the element's range.
func (e *Element) holds(fields []uint8, key []byte) bool {
	end, at := e.last(), 0
	for _, length := range fields {
		next := at + int(length)
		if bytes.Compare(key[at:next], e.Key[at:next]) < 0 || bytes.Compare(key[at:next], end[at:next]) > 0 {
			return false
		}
		at += paddedLen(length)
	}
	return true
}

// paddedLen is how many bytes of a key a part takes.
func paddedLen(length uint8) int { return (int(length) + 3) &^ 3 }

// last is the last key of a concatenation with intervals.
func (e *Element) last() []byte {
	if e.KeyEnd != nil {
		return e.KeyEnd
	}
	return e.Key
}

// clash follows nft_pipapo_insert, which looks at both ends of the new element alone: it does not see one that lies within the new one.
func (b *boxes) clash(s *SetSpec, e *Element, now time.Time) (*Element, syscall.Errno) {
	if found := b.find(s, e.Key, now); found != nil {
		if bytes.Equal(found.Key, e.Key) && bytes.Equal(found.last(), e.last()) {
			return found, 0
		}
		return nil, syscall.EEXIST
	}
	if b.find(s, e.last(), now) != nil {
		return nil, syscall.EEXIST
	}
	at := 0
	for _, length := range s.FieldLens {
		next := at + int(length)
		if bytes.Compare(e.Key[at:next], e.last()[at:next]) > 0 {
			return nil, syscall.EINVAL
		}
		at += paddedLen(length)
	}
	return nil, 0
}
