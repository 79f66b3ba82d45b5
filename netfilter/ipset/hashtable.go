package ipset

import (
	"maps"
	"math/bits"
	"slices"
)

// hashTable is where the kernel keeps the elements of a hash type (net/netfilter/ipset/ip_set_hash_gen.h): buckets by a hash that begins
// with the set's initval, in each of which the elements stand in places. Elements are listed by bucket and place.
type hashTable struct {
	bits       int   // the table has 1<<bits buckets
	bucketSize uint8 // the greatest number of places of a bucket
	initVal    uint32
	buckets    map[uint32]*bucket
	elements   []int // of each region
	extSize    int   // what the kernel counts for buckets, in bytes
}

// bucket is the elements of one hash.
type bucket struct {
	places []slot // as far as they have been used
	size   int    // how many there is room for
}

// slot is a place in a bucket.
type slot struct {
	used bool
	key  key
	hash uint32
}

// place is where an element stands.
type place struct {
	hash  uint32 // of all bits
	index int32
}

const (
	bucketStep = 2  // places that a bucket has at first, and gets more
	maxBucket  = 64 // places that a bucket can have
	regionBits = 10 // a region has so many buckets at most
)

func newHashTable(o *options) *hashTable {
	h := &hashTable{bits: hashBits(o.hashSize), bucketSize: o.bucketSize, initVal: o.initVal}
	h.flush()
	return h
}

// hashBits is the length of the hash that gives so many buckets or more.
func hashBits(size uint32) int { return bits.Len32(size - 1) }

// regions is the number of regions that the kernel locks alone.
func (h *hashTable) regions() int { return 1 << max(0, h.bits-regionBits) }

func (h *hashTable) flush() {
	h.buckets, h.elements, h.extSize = map[uint32]*bucket{}, make([]int, h.regions()), 0
}

func (h *hashTable) bucketOf(hash uint32) uint32 { return hash & (1<<h.bits - 1) }

// region is the region that a bucket's elements are counted in.
func (h *hashTable) region(index uint32) int { return int(index >> regionBits) }

// ofBucket is what a bucket takes with so many places for elements of the set, in bytes.
func (s *set) ofBucket(places int) int { return bucketHead + places*s.elementSize() }

// full says whether the set takes no more elements, as seen from the region of a hash.
func (h *hashTable) full(s *set, hash uint32) bool {
	limit := int(s.options.maxElem)
	if h.elements[h.region(h.bucketOf(hash))] < limit/len(h.elements) {
		return false
	}
	all := 0
	for _, n := range h.elements {
		all += n
	}
	return all >= limit
}

// admit says whether there is a place for another element. A set with forceadd that is full gives up the first element of the bucket.
func (h *hashTable) admit(s *set, k key) error {
	hash := s.hashOf(k)
	if h.full(s, hash) && s.options.hasTimeout {
		s.expire()
	}
	b := h.buckets[h.bucketOf(hash)]
	switch full := h.full(s, hash); {
	case !full && (b == nil || !s.kind.has(partIface) || h.bucketSize < maxBucket || len(b.places) < b.size):
		return nil
	case b != nil && b.free(s) >= 0: // the place of an element that was deleted is free even then
		return nil
	case b == nil || !full || !s.options.forceAdd:
		return errFull
	}
	s.drop(b.places[0].key)
	b.places[0].used = false
	h.elements[h.region(h.bucketOf(hash))]--
	return nil
}

// free is the first place without an element, or with one whose time is over; -1 if there is none.
func (b *bucket) free(s *set) int {
	return slices.IndexFunc(b.places, func(p slot) bool { return !p.used || !s.live(s.entries[p.key]) })
}

// room is the place that an element takes: the first that is free, or one behind all others.
func (h *hashTable) room(s *set, k key) place {
	hash := s.hashOf(k)
	for {
		if index, ok := h.take(s, k, hash); ok {
			return place{hash, int32(index)}
		}
		h.grow(s)
	}
}

// take takes a place in the bucket of the hash. ok is false where the bucket may not grow.
func (h *hashTable) take(s *set, k key, hash uint32) (index int, ok bool) {
	at := h.bucketOf(hash)
	b := h.buckets[at]
	if b == nil {
		b = &bucket{size: bucketStep}
		h.buckets[at] = b
		h.extSize += s.ofBucket(bucketStep)
	}
	switch index = b.free(s); {
	case index < 0:
		index = len(b.places)
		if index == b.size && !h.extend(s, b, k) {
			return 0, false
		}
		b.places = append(b.places, slot{})
	case b.places[index].used:
		s.drop(b.places[index].key)
		h.elements[h.region(at)]--
	}
	b.places[index] = slot{used: true, key: k, hash: hash}
	h.elements[h.region(at)]++
	return index, true
}

// extend gives a bucket more places, if it may have more. Elements of one net with other interfaces all have one hash, so that the limit
// gives way to them.
func (h *hashTable) extend(s *set, b *bucket, k key) bool {
	if s.kind.has(partIface) {
		alike := 0
		for _, p := range b.places {
			if p.key.addr == k.addr && p.key.bits == k.bits {
				alike++
			}
		}
		if int(h.bucketSize) <= alike {
			h.bucketSize += bucketStep
		}
	}
	if b.size >= int(h.bucketSize) {
		return false
	}
	b.size += bucketStep
	h.extSize += s.ofBucket(bucketStep)
	return true
}

// grow doubles the table until all elements find a place.
func (h *hashTable) grow(s *set) {
	all := h.inOrder()
	for {
		h.bits++
		h.flush()
		if h.refill(s, all) {
			return
		}
	}
}

// refill puts elements into a table that is empty. Expired ones are left behind.
func (h *hashTable) refill(s *set, all []slot) bool {
	for _, p := range all {
		e := s.entries[p.key]
		if !s.live(e) {
			continue
		}
		at := h.bucketOf(p.hash)
		b := h.buckets[at]
		switch {
		case b == nil:
			b = &bucket{size: bucketStep}
			h.buckets[at] = b
			h.extSize += s.ofBucket(bucketStep)
		case len(b.places) < b.size:
		case b.size >= int(h.bucketSize):
			return false
		default:
			b.size += bucketStep
			h.extSize += s.ofBucket(bucketStep)
		}
		e.at = place{p.hash, int32(len(b.places))}
		b.places = append(b.places, p)
		h.elements[h.region(at)]++
	}
	for k, e := range s.entries {
		if !s.live(e) {
			s.drop(k)
		}
	}
	return true
}

// remove takes an element out of its bucket, which becomes smaller where more than one place is free.
func (h *hashTable) remove(s *set, at place) {
	index := h.bucketOf(at.hash)
	b := h.buckets[index]
	b.places[at.index].used = false
	if int(at.index) == len(b.places)-1 {
		b.places = b.places[:at.index]
	}
	h.elements[h.region(index)]--
	free := 0
	for _, p := range b.places {
		if !p.used {
			free++
		}
	}
	switch {
	case free == len(b.places):
		h.extSize -= s.ofBucket(b.size)
		delete(h.buckets, index)
	case free >= bucketStep:
		b.size -= bucketStep
		h.extSize -= s.ofBucket(bucketStep)
		b.places = slices.DeleteFunc(b.places, func(p slot) bool { return !p.used })
		for i, p := range b.places {
			s.entries[p.key].at.index = int32(i)
		}
	}
}

// indices are the indices of the buckets, in order.
func (h *hashTable) indices() []uint32 { return slices.Sorted(maps.Keys(h.buckets)) }

// inOrder are the elements in the order in which the kernel lists them.
func (h *hashTable) inOrder() []slot {
	var all []slot
	for _, index := range h.indices() {
		for _, p := range h.buckets[index].places {
			if p.used {
				all = append(all, p)
			}
		}
	}
	return all
}
