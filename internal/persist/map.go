package persist

import (
	"math/bits"
	"slices"
)

// Map is a hash map from texts to values. It never changes but by who has called Edit; its zero value is empty, and so is a nil pointer for
// those who only read.
type Map[V any] struct {
	pages []*mapPage[V]
	mask  uint32 // number of buckets minus one
	count int
	owner *owner
}

// owner is the identity of one edit; its address is all that counts. What it has made, it may write in place.
type owner struct{ _ byte }

const (
	pageBits       = 7
	pageSize       = 1 << pageBits
	bucketLoad     = 4 // mean number of entries of a bucket of a map that has just grown
	fewEntries     = 8 // mean number of entries of a bucket at which the map grows
	minimumBuckets = 4
)

type mapPage[V any] struct {
	owner   *owner
	buckets []mapBucket[V] // pageSize of them, fewer in a map that has fewer
}

type mapBucket[V any] struct {
	owner   *owner
	entries []mapEntry[V]
}

type mapEntry[V any] struct {
	key   string
	hash  uint32
	value V
}

// hash takes eight letters at a time.
func hash[T string | []byte](key T) uint32 {
	h, i := uint64(len(key)), 0
	for ; i+8 <= len(key); i += 8 {
		h = mix(h, uint64(key[i])|uint64(key[i+1])<<8|uint64(key[i+2])<<16|uint64(key[i+3])<<24|
			uint64(key[i+4])<<32|uint64(key[i+5])<<40|uint64(key[i+6])<<48|uint64(key[i+7])<<56)
	}
	var rest uint64
	for ; i < len(key); i++ {
		rest = rest<<8 | uint64(key[i])
	}
	h = mix(h, rest)
	return uint32(h) ^ uint32(h>>32)
}

// mix multiplies and folds the product, so that every bit of the word reaches the low bits too.
func mix(h, word uint64) uint64 {
	high, low := bits.Mul64(h^word^0x9e3779b97f4a7c15, 0xe7037ed1a0b428db)
	return high ^ low
}

// Len is the number of entries.
func (m *Map[V]) Len() int {
	if m == nil {
		return 0
	}
	return m.count
}

// Get is the value of a key.
func (m *Map[V]) Get(key string) (V, bool) {
	if m.Len() > 0 {
		h := hash(key)
		entries := m.bucket(h).entries
		for i := range entries {
			if e := &entries[i]; e.hash == h && e.key == key {
				return e.value, true
			}
		}
	}
	var none V
	return none, false
}

// GetBytes is Get of a key that is no string.
func (m *Map[V]) GetBytes(key []byte) (V, bool) {
	if m.Len() > 0 {
		h := hash(key)
		entries := m.bucket(h).entries
		for i := range entries {
			if e := &entries[i]; e.hash == h && e.key == string(key) {
				return e.value, true
			}
		}
	}
	var none V
	return none, false
}

func (m *Map[V]) bucket(hash uint32) *mapBucket[V] {
	i := hash & m.mask
	return &m.pages[i>>pageBits].buckets[i&(pageSize-1)]
}

// Edit is an equal map that may be changed without changing this one, with room for some entries more.
func (m *Map[V]) Edit(extra int) *Map[V] {
	n := &Map[V]{pages: slices.Clone(m.pages), mask: m.mask, count: m.count, owner: &owner{}}
	n.Reserve(extra)
	return n
}

// Reserve makes room for some entries more. Only for a map that Edit gave.
func (m *Map[V]) Reserve(extra int) {
	if m.count+extra > 0 {
		m.grow(m.count + extra)
	}
}

// grow makes room for count entries, at least one, moving all of them if it must. A few entries have one bucket, of just their number.
func (m *Map[V]) grow(count int) {
	buckets := uint32(minimumBuckets)
	if count <= fewEntries {
		buckets = 1
	}
	for int(buckets)*bucketLoad < count && count > fewEntries {
		buckets *= 2
	}
	if len(m.pages) > 0 && buckets <= m.mask+1 {
		return
	}
	old := m.pages
	m.mask = buckets - 1
	m.pages = make([]*mapPage[V], (buckets+pageSize-1)/pageSize)
	for i := range m.pages {
		m.pages[i] = &mapPage[V]{owner: m.owner, buckets: make([]mapBucket[V], min(buckets, pageSize))}
	}
	if buckets == 1 {
		m.pages[0].buckets[0] = mapBucket[V]{owner: m.owner, entries: make([]mapEntry[V], 0, count)}
	}
	for _, p := range old {
		for _, b := range p.buckets {
			for _, e := range b.entries {
				w := m.writable(e.hash)
				w.entries = append(w.entries, e)
			}
		}
	}
}

// writable is the bucket of a hash, copied unless this edit has done so.
func (m *Map[V]) writable(hash uint32) *mapBucket[V] {
	i := hash & m.mask
	page := m.pages[i>>pageBits]
	if page.owner != m.owner {
		page = &mapPage[V]{owner: m.owner, buckets: slices.Clone(page.buckets)}
		m.pages[i>>pageBits] = page
	}
	b := &page.buckets[i&(pageSize-1)]
	if b.owner != m.owner {
		b.owner = m.owner
		b.entries = append(make([]mapEntry[V], 0, len(b.entries)+1), b.entries...)
	}
	return b
}

// Put gives a key a value. Only for a map that Edit gave.
func (m *Map[V]) Put(key string, v V) {
	if len(m.pages) == 0 {
		m.grow(1)
	}
	h := hash(key)
	b := m.writable(h)
	for i := range b.entries {
		if e := &b.entries[i]; e.hash == h && e.key == key {
			e.value = v
			return
		}
	}
	if m.count++; m.count > int(m.mask+1)*fewEntries {
		m.grow(m.count)
		b = m.writable(h)
	}
	b.entries = append(b.entries, mapEntry[V]{key: key, hash: h, value: v})
}

// Ref is where the value of a key is kept, to be written to; nil if there is none. It holds until the next Put or Remove. Only for a map
// that Edit gave.
func (m *Map[V]) Ref(key string) *V {
	if m.count == 0 {
		return nil
	}
	h := hash(key)
	b := m.bucket(h)
	for i := range b.entries {
		if e := &b.entries[i]; e.hash == h && e.key == key {
			if b.owner != m.owner {
				b = m.writable(h)
			}
			return &b.entries[i].value
		}
	}
	return nil
}

// Remove takes a key out, and says whether it was there. Only for a map that Edit gave.
func (m *Map[V]) Remove(key string) bool {
	if m.count == 0 {
		return false
	}
	h := hash(key)
	b := m.writable(h)
	for i := range b.entries {
		if b.entries[i].hash == h && b.entries[i].key == key {
			last := len(b.entries) - 1
			b.entries[i] = b.entries[last]
			b.entries[last] = mapEntry[V]{}
			b.entries = b.entries[:last]
			m.count--
			return true
		}
	}
	return false
}

// Each calls f for every entry until it says no, in no order that means anything.
func (m *Map[V]) Each(f func(key string, v V) bool) {
	if m == nil {
		return
	}
	for _, p := range m.pages {
		for i := range p.buckets {
			for _, e := range p.buckets[i].entries {
				if !f(e.key, e.value) {
					return
				}
			}
		}
	}
}

// Differing calls f for each key that has not the same value in another map, in no order: the zero value stands for that of a map which
// does not have the key. What both maps share, as they do after an edit, is not looked at. The values must be comparable.
func (m *Map[V]) Differing(other *Map[V], f func(key string, here, there V)) {
	var none V
	here := func(entries []mapEntry[V]) {
		for _, e := range entries {
			if v, is := other.Get(e.key); !is || any(v) != any(e.value) {
				f(e.key, e.value, v)
			}
		}
	}
	there := func(entries []mapEntry[V]) {
		for _, e := range entries {
			if _, is := m.Get(e.key); !is {
				f(e.key, none, e.value)
			}
		}
	}
	same := m.Len() > 0 && other.Len() > 0 && m.mask == other.mask
	for i := range m.allPages() {
		p := m.pages[i]
		if same && p == other.pages[i] {
			continue
		}
		for k := range p.buckets {
			if !same || !sharesEntries(p.buckets[k].entries, other.pages[i].buckets[k].entries) {
				here(p.buckets[k].entries)
			}
		}
	}
	for i := range other.allPages() {
		p := other.pages[i]
		if same && p == m.pages[i] {
			continue
		}
		for k := range p.buckets {
			if !same || !sharesEntries(p.buckets[k].entries, m.pages[i].buckets[k].entries) {
				there(p.buckets[k].entries)
			}
		}
	}
}

// allPages are the pages of a map that has entries.
func (m *Map[V]) allPages() []*mapPage[V] {
	if m.Len() == 0 {
		return nil
	}
	return m.pages
}

// sharesEntries says whether two lists are in one place of memory.
func sharesEntries[V any](a, b []mapEntry[V]) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
