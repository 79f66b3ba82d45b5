package packetsim

import "math"

// evictionBuckets are the places of the kernel's table that it looks at for a connection to evict.
const evictionBuckets = 8

// makeRoom says whether the table takes one more connection (__nf_conntrack_alloc). If it is full the kernel evicts connections
// that are not assured, but looks only at a few places of its table: whether it finds one there is chance. Which one it
// finds is not to be foretold; here it is the one that expires first.
func (h *tracker) makeRoom(chance Chance) bool {
	if h.conf.most == 0 || h.tracked.size() < h.conf.most {
		return true
	}
	h.sweep()
	if h.tracked.size() < h.conf.most {
		return true
	}
	victim, candidates := h.evictable()
	if candidates == 0 || !chance.Draw(evictionChance(candidates, h.conf.buckets)) {
		return false
	}
	h.remove(victim)
	return true
}

// evictable gives the connection that may be evicted and expires first, and how many there are.
func (h *tracker) evictable() (first *conn, count int) {
	for c := range h.tracked.all() {
		if c.assured {
			continue
		}
		count++
		if first == nil || c.expires.Before(first.expires) ||
			c.expires.Equal(first.expires) && c.tuples[original].compare(first.tuples[original]) < 0 {
			first = c
		}
	}
	return first, count
}

// evictionChance is the k of the probability that one of the connections, each of which is in the table twice, is in the places looked at.
func evictionChance(connections, buckets int) uint32 {
	if buckets <= evictionBuckets {
		return certain
	}
	missed := math.Pow(1-float64(evictionBuckets)/float64(buckets), float64(2*connections))
	return uint32(math.Round((1 - missed) * certain))
}
