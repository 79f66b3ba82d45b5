package ruleset

import (
	"math/bits"
	"slices"
)

// chainMap is a persistent hash map from chain name to chain. A derived map
// shares every page and bucket that did not change, so that a commit costs by
// the chains it touches, whatever the number of chains.
type chainMap struct {
	pages []*mapPage
	mask  uint32 // number of buckets minus one
	count int
	owner *mapOwner // buckets and pages with this owner may be written in place
}

// mapOwner is the identity of one edit; its address is all that counts.
type mapOwner struct{ _ byte }

const (
	pageBits       = 7
	pageSize       = 1 << pageBits
	bucketLoad     = 6 // mean number of entries of a bucket at which the map grows
	minimumBuckets = 8
)

type mapPage struct {
	owner   *mapOwner
	buckets []*mapBucket // pageSize of them, fewer in a map that has fewer
}

type mapBucket struct {
	owner   *mapOwner
	entries []chainEntry
}

// chainEntry is a chain and what the table knows about it.
type chainEntry struct {
	chain *Chain
	hash  uint32
	refs  int32 // rules of the table that jump or go to it
	// reached counts, for each hook, the rules that lead to it from chains which that hook reaches.
	reached hookCounts
}

// hashName takes eight letters at a time: every packet that jumps, and every rule that a restore reads, asks for a name.
func hashName[T string | []byte](name T) uint32 {
	h, i := uint64(len(name)), 0
	for ; i+8 <= len(name); i += 8 {
		h = mixWord(h, uint64(name[i])|uint64(name[i+1])<<8|uint64(name[i+2])<<16|uint64(name[i+3])<<24|
			uint64(name[i+4])<<32|uint64(name[i+5])<<40|uint64(name[i+6])<<48|uint64(name[i+7])<<56)
	}
	var rest uint64
	for ; i < len(name); i++ {
		rest = rest<<8 | uint64(name[i])
	}
	h = mixWord(h, rest)
	return uint32(h) ^ uint32(h>>32)
}

// mixWord multiplies and folds the product, so that every bit of the word reaches the low bits too.
func mixWord(h, word uint64) uint64 {
	high, low := bits.Mul64(h^word^0x9e3779b97f4a7c15, 0xe7037ed1a0b428db)
	return high ^ low
}

// get returns the entry of a name, nil if there is none. It must not be written to.
func (m *chainMap) get(name string) *chainEntry {
	if m.count == 0 {
		return nil
	}
	hash := hashName(name)
	b := m.bucket(hash)
	if b == nil {
		return nil
	}
	return b.find(hash, name)
}

func (m *chainMap) bucket(hash uint32) *mapBucket {
	i := hash & m.mask
	return m.pages[i>>pageBits].buckets[i&(pageSize-1)]
}

func (b *mapBucket) find(hash uint32, name string) *chainEntry {
	for i := range b.entries {
		if e := &b.entries[i]; e.hash == hash && e.chain.Name == name {
			return e
		}
	}
	return nil
}

// edit returns a map equal to m that may be changed without changing m.
func (m *chainMap) edit(extra int) *chainMap {
	n := &chainMap{pages: append([]*mapPage(nil), m.pages...), mask: m.mask, count: m.count, owner: &mapOwner{}}
	n.grow(m.count + extra)
	return n
}

// grow makes room for count entries, moving all of them if it must.
func (m *chainMap) grow(count int) {
	buckets := uint32(minimumBuckets)
	for int(buckets)*bucketLoad < count {
		buckets *= 2
	}
	if len(m.pages) > 0 && buckets <= m.mask+1 {
		return
	}
	old := m.pages
	m.mask = buckets - 1
	m.pages = make([]*mapPage, (buckets+pageSize-1)/pageSize)
	for i := range m.pages {
		m.pages[i] = &mapPage{owner: m.owner, buckets: make([]*mapBucket, min(buckets, pageSize))}
	}
	for _, p := range old {
		for _, b := range p.buckets {
			if b == nil {
				continue
			}
			for _, e := range b.entries {
				w := m.writable(e.hash)
				w.entries = append(w.entries, e)
			}
		}
	}
}

// writable returns the bucket of a hash, copied unless this edit has done so.
func (m *chainMap) writable(hash uint32) *mapBucket {
	i := hash & m.mask
	page := m.pages[i>>pageBits]
	if page.owner != m.owner {
		page = &mapPage{owner: m.owner, buckets: slices.Clone(page.buckets)}
		m.pages[i>>pageBits] = page
	}
	b := page.buckets[i&(pageSize-1)]
	switch {
	case b == nil:
		b = &mapBucket{owner: m.owner}
	case b.owner != m.owner:
		b = &mapBucket{owner: m.owner, entries: append(make([]chainEntry, 0, len(b.entries)+1), b.entries...)}
	default:
		return b
	}
	page.buckets[i&(pageSize-1)] = b
	return b
}

// set adds or replaces the entry of e.chain's name.
func (m *chainMap) set(e chainEntry) {
	b := m.writable(e.hash)
	if old := b.find(e.hash, e.chain.Name); old != nil {
		*old = e
		return
	}
	m.count++
	b.entries = append(b.entries, e)
}

// remove deletes the entry of a name.
func (m *chainMap) remove(name string) {
	hash := hashName(name)
	b := m.writable(hash)
	for i := range b.entries {
		if b.entries[i].hash == hash && b.entries[i].chain.Name == name {
			last := len(b.entries) - 1
			b.entries[i] = b.entries[last]
			b.entries[last] = chainEntry{}
			b.entries = b.entries[:last]
			m.count--
			return
		}
	}
}

// each calls f for every entry, in no order that means anything.
func (m *chainMap) each(f func(*chainEntry)) {
	for _, p := range m.pages {
		for _, b := range p.buckets {
			if b == nil {
				continue
			}
			for i := range b.entries {
				f(&b.entries[i])
			}
		}
	}
}

// differing calls f for the name of each chain that is another one in a second map, or that only one of them has. What both share is not
// looked at.
func (m *chainMap) differing(other *chainMap, f func(name string)) {
	if m.mask != other.mask || len(m.pages) != len(other.pages) {
		m.beside(other, m.each, f)
		other.without(m, other.each, f)
		return
	}
	for i, p := range m.pages {
		q := other.pages[i]
		if p == q {
			continue
		}
		for k := range p.buckets {
			if a, b := p.buckets[k], q.buckets[k]; a != b {
				m.beside(other, a.each, f)
				other.without(m, b.each, f)
			}
		}
	}
}

// beside calls f for those of some entries whose chain is another one in a second map, or not there.
func (*chainMap) beside(other *chainMap, entries func(func(*chainEntry)), f func(name string)) {
	entries(func(e *chainEntry) {
		if o := other.get(e.chain.Name); o == nil || o.chain != e.chain {
			f(e.chain.Name)
		}
	})
}

// without calls f for those of some entries whose name a second map does not have.
func (*chainMap) without(other *chainMap, entries func(func(*chainEntry)), f func(name string)) {
	entries(func(e *chainEntry) {
		if other.get(e.chain.Name) == nil {
			f(e.chain.Name)
		}
	})
}

func (b *mapBucket) each(f func(*chainEntry)) {
	if b == nil {
		return
	}
	for i := range b.entries {
		f(&b.entries[i])
	}
}
