package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// tokenBucket is the state of a -m limit: credits, of which each packet costs some and each tick brings some.
type tokenBucket struct {
	credit uint64
	last   int64 // tick of the last packet
}

// creditsPerTick is CREDITS_PER_JIFFY of net/netfilter/xt_limit.c: the largest power of two with which the credits of a day fit 32 bits.
const creditsPerTick = 128

// limitScale is the number of MatchLimit's units in a second.
const limitScale = 10000

// limitCredits is the number of credits of a time (user2credits).
func limitCredits(units uint64) uint64 {
	if units > 0xffffffff/(hertz*creditsPerTick) {
		return units / limitScale * hertz * creditsPerTick
	}
	return units * hertz * creditsPerTick / limitScale
}

// matchLimit is -m limit (net/netfilter/xt_limit.c).
func (mt *matcher) matchLimit(s *skb, m *match.Limit) bool {
	key, now := mt.matchKey(), ticks(mt.memory.clock.Now())
	most, cost := limitCredits(uint64(m.Interval)*uint64(m.Burst)), limitCredits(uint64(m.Interval))
	limits := &mt.memory.limits
	bucket, begun := limits.get(key)
	if !begun {
		bucket = tokenBucket{credit: most, last: now}
	}
	bucket.credit = min(bucket.credit+uint64(now-bucket.last)*creditsPerTick, most)
	bucket.last = now
	holds := bucket.credit >= cost
	if holds {
		bucket.credit -= cost
	}
	limits.put(key, bucket)
	return holds
}
