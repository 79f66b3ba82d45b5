package conntrack

import "math"

// evictionBuckets are the places of the kernel's table that it looks at for a connection to evict.
const evictionBuckets = 8

// makeRoom says whether the table takes one more connection (__nf_conntrack_alloc). If it is full the kernel evicts connections
// that are not assured, but looks only at a few places of its table: whether it finds one there is chance. Which one it
// finds is not to be foretold; here it is the one that expires first.
func (k *Tracker) makeRoom(chance Chance) bool {
	if k.conf.most == 0 || k.tracked.size() < k.conf.most {
		return true
	}
	k.sweep()
	if k.tracked.size() < k.conf.most {
		return true
	}
	victim, candidates := k.evictable()
	if candidates == 0 || !chance.Draw(evictionChance(candidates, k.conf.buckets)) {
		return false
	}
	k.Remove(victim)
	return true
}

// evictable gives the connection that may be evicted and expires first, and how many there are.
func (k *Tracker) evictable() (first *Conn, count int) {
	for c := range k.tracked.all() {
		if c.Assured {
			continue
		}
		count++
		if first == nil || c.Expires.Before(first.Expires) ||
			c.Expires.Equal(first.Expires) && c.Tuples[Original].Compare(first.Tuples[Original]) < 0 {
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
