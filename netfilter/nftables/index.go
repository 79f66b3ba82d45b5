package nftables

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// setIndex finds elements of a set without intervals by their keys, each a wait for memory at most. It is made of a set that is asked often
// and may be asked after later versions of the set, too: what they have changed is stale.
type setIndex struct {
	slots []indexSlot // a power of two of them, at most half of them in use
	// words are the keys of a set of words that maps nothing, as many as slots: walks ask for no more. They take far less memory. 0: nobody is
	// here.
	words []uint32
	zero  bool // a key is 0
}

// indexSlot is an element and its key as numbers, in 32 bytes. It has what walks ask an element for beside that, so that they need not wait
// for the element's own memory.
type indexSlot struct {
	key     Key
	element *Element              // nil: nobody is here
	leads   atomic.Pointer[Leads] // the element's, as it was last seen here
}

// Leads is where the verdict of an element leads, as walks keep it with the element.
type Leads struct {
	Code expr.Code
	To   any // the chain, in the form that walks have of it
}

// Key is a key of up to longestIndexed bytes as numbers, all keys of a set being of the same length.
type Key struct{ low, high uint64 }

// KeyOfWords is the key of so many words, 1 to 4, each as a little-endian number.
func KeyOfWords(words *[4]uint32, n int) Key {
	pair := func(at int) uint64 { return uint64(words[at&3]) | uint64(words[(at+1)&3])<<32 }
	switch n {
	case 1:
		return Key{low: uint64(words[0]) | uint64(words[0])<<32}
	case 2:
		return Key{pair(0), pair(0)}
	case 3:
		return Key{pair(0), pair(1)}
	}
	return Key{pair(0), pair(2)}
}

// longestIndexed is the length of the longest keys that are indexed.
const longestIndexed = 16

// indexKeyOf reads the first bytes and the last ones, which may be the same.
func indexKeyOf(key []byte) Key {
	switch n := len(key); {
	case n >= 8:
		return Key{binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:])}
	case n >= 4:
		return Key{low: uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<32}
	default:
		var k Key
		for _, b := range key {
			k.low = k.low<<8 | uint64(b)
		}
		return k
	}
}

// hash multiplies and folds the product, so that each bit of the key reaches all others.
func (k Key) hash() uint64 {
	high, low := bits.Mul64(k.low^0x9e3779b97f4a7c15, k.high^0xe7037ed1a0b428db)
	return high ^ low ^ bits.RotateLeft64(k.high, 32) // which counts alone where the product is 0
}

// newSetIndex is of all elements of a set.
func newSetIndex(m *members, s *SetSpec) *setIndex {
	size := 1
	for size < m.hashed.Len()*2 {
		size *= 2
	}
	x := &setIndex{slots: make([]indexSlot, size)}
	m.hashed.Each(func(key string, e *Element) bool {
		k := indexKeyOf([]byte(key))
		at := k.hash()
		for ; x.at(at).element != nil; at++ {
		}
		slot := x.at(at)
		slot.key, slot.element = k, e
		return true
	})
	if s.KeyLen == wordLen && s.Flags&SetMap == 0 {
		x.takeWords()
	}
	return x
}

// wordLen is the length of a key that is one word.
const wordLen = 4

// takeWords takes the keys of the slots.
func (x *setIndex) takeWords() {
	x.words = make([]uint32, len(x.slots))
	for i := range x.slots {
		if x.slots[i].element == nil {
			continue
		}
		word, at := uint32(x.slots[i].key.low), x.slots[i].key.hash()
		if word == 0 {
			x.zero = true
			continue
		}
		for ; *x.word(at) != 0; at++ {
		}
		*x.word(at) = word
	}
}

func (x *setIndex) word(hash uint64) *uint32 { return &x.words[hash&uint64(len(x.words)-1)] }

// hasWord says whether a key of one word is in a set that has words.
func (x *setIndex) hasWord(word uint32, hash uint64) bool {
	if word == 0 {
		return x.zero
	}
	for at := hash; ; at++ {
		switch *x.word(at) {
		case word:
			return true
		case 0:
			return false
		}
	}
}

func (x *setIndex) at(hash uint64) *indexSlot { return &x.slots[hash&uint64(len(x.slots)-1)] }

// find is the slot of a key. It has no element if there was none when the index was made.
func (x *setIndex) find(k Key, hash uint64) *indexSlot {
	for at := hash; ; at++ {
		if s := x.at(at); s.key == k || s.element == nil {
			return s
		}
	}
}

// staleKeys are the keys that were put or removed since an index was made, as one bit of the hash of each: a key whose bit is not set is as
// the index has it.
type staleKeys struct {
	bits    [1024 / 64]uint64
	changes int
}

func (k *staleKeys) has(hash uint64) bool { return k.bits[hash>>58%16]&(1<<(hash>>52&63)) != 0 }

func (k *staleKeys) add(hash uint64) {
	k.bits[hash>>58%16] |= 1 << (hash >> 52 & 63)
	k.changes++
}

// mostStale is after how many changes an index is given up.
const mostStale = 128

// indexes says that an index may be made of the set if it is hashed.
func (s *SetSpec) indexes() bool { return s.KeyLen <= longestIndexed }

// leastAsked is how often a set is asked at least before it gets an index, and a larger one once for so many of its elements.
const (
	leastAsked  = 16
	askedPerAll = 4
)

// noteAsked makes the index of a set that is asked often.
func (m *members) noteAsked(s *SetSpec) {
	if n := m.asked.Add(1); n >= leastAsked && int(n)*askedPerAll >= m.hashed.Len() && s.indexes() {
		m.index.CompareAndSwap(nil, newSetIndex(m, s))
	}
}

// byIndex is the element of a key.
func (m *members) byIndex(x *setIndex, key []byte) *Element {
	k := indexKeyOf(key)
	hash := k.hash()
	if m.stale != nil && m.stale.has(hash) {
		e, _ := m.hashed.GetBytes(key)
		return e
	}
	return x.find(k, hash).element
}

// FindKey is Find for a key of whole words, which is given as numbers too, in a set whose elements never expire. leads is where to keep the
// element's Leads beside its key, so that the next walk need not ask the element for them; nil if there is no such place.
func (s *Set) FindKey(k Key, key []byte) (e *Element, leads *atomic.Pointer[Leads]) {
	m := s.members.Load()
	if x := m.index.Load(); x != nil && m.catchall == nil {
		if hash := k.hash(); m.stale == nil || !m.stale.has(hash) {
			slot := x.find(k, hash)
			return slot.element, &slot.leads
		}
	}
	return m.find(&s.SetSpec, key, time.Time{}), nil
}

// HasKey says whether FindKey would find an element.
func (s *Set) HasKey(k Key, key []byte) bool {
	m := s.members.Load()
	if x := m.index.Load(); x != nil && x.words != nil && m.catchall == nil {
		if hash := k.hash(); m.stale == nil || !m.stale.has(hash) {
			return x.hasWord(uint32(k.low), hash)
		}
	}
	e, _ := s.FindKey(k, key)
	return e != nil
}

// Touch reads something of where FindKey will look for the key, if there is an index. That says nothing, but the memory comes closer while
// the caller does something else.
func (s *Set) Touch(k Key) uint64 {
	if x := s.members.Load().index.Load(); x != nil {
		return x.at(k.hash()).key.low
	}
	return 0
}

// inherit keeps the index of the members that these were copied from.
func (m *members) inherit(from *members) {
	x := from.index.Load()
	if x == nil {
		return
	}
	m.index.Store(x)
	m.stale = &staleKeys{}
	if from.stale != nil {
		*m.stale = *from.stale
	}
}

// changes notes that the element of a key becomes another.
func (m *members) changes(key []byte) {
	if m.stale == nil {
		return
	}
	if m.stale.changes >= mostStale {
		m.index.Store(nil)
		m.stale = nil
		return
	}
	m.stale.add(indexKeyOf(key).hash())
}
