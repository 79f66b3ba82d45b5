package packetsim

import (
	"math"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The kernel's numbers of net/netfilter/xt_hashlimit.c. A tick brings so many credits, of packets and of bytes.
const (
	hashCreditsPerTick = 1 << 39 // the largest power of two with which the credits of a day fit 64 bits
	byteCreditsPerTick = 128
	hashlimitScale     = 1000000
	byteChunk          = 16
	hashlimitExpire    = 10 * time.Second
	hashlimitCollect   = time.Second
)

// hashlimitTable is a --hashlimit-name of one family. The rule that made it says how its buckets are.
type hashlimitTable struct {
	made    *match.Hashlimit
	begun   time.Time
	buckets uint32 // how many there are
}

type hashlimitName struct {
	name   string
	family netfilter.Family
}

// hashlimitAt is a table and what a bucket of it is for.
type hashlimitAt struct {
	table            hashlimitName
	src, dst         netip.Addr
	srcPort, dstPort uint16
}

type hashlimitBucket struct {
	last    int64
	expires time.Time
	credit  uint64
	most    uint64 // of bytes: the seconds of burst that are left
	// of --hashlimit-rate-match:
	rate       uint64
	overBefore bool // the window before was over the rate
}

// matchHashlimit is -m hashlimit.
func (mt *matcher) matchHashlimit(s *skb, m *match.Hashlimit) bool {
	name := hashlimitName{m.Table, inet.FamilyOf(s.Dst)}
	t := mt.hashlimit(name, m)
	at := mt.hashlimitKeyOf(s, t.made)
	if mt.err != nil {
		return false
	}
	at.table = name
	now, memory := mt.memory.clock.Now(), mt.memory
	b, begun := memory.buckets.get(at)
	if !begun || t.collected(&b, now) {
		if t.made.Max > 0 && !begun && t.buckets >= t.made.Max {
			mt.dropSaying(ReasonHashlimitFull, "hashlimit table "+m.Table+" is full")
			mt.hotdrop = true
			return false
		}
		if !begun {
			t.buckets++
			memory.hashlimits.put(name, t)
		}
		b = newHashlimitBucket(t.made)
		b.last = ticks(now)
	} else {
		b.refill(t.made, ticks(now))
	}
	b.expires = now.Add(t.expire())
	under := b.take(m, uint64(s.Size()))
	memory.buckets.put(at, b)
	return under != m.Above
}

func (t *hashlimitTable) expire() time.Duration {
	if t.made.Expire == 0 {
		return hashlimitExpire
	}
	return time.Duration(t.made.Expire) * time.Millisecond
}

// collected says whether the bucket expired and was taken away since: the table is cleaned at intervals.
func (t *hashlimitTable) collected(b *hashlimitBucket, now time.Time) bool {
	interval := time.Duration(t.made.GCInterval) * time.Millisecond
	if interval == 0 {
		interval = hashlimitCollect
	}
	rounds := (b.expires.Sub(t.begun) + interval - 1) / interval
	return now.After(t.begun.Add(rounds * interval))
}

// hashlimit is the table that a rule names, made on its first use.
func (mt *matcher) hashlimit(name hashlimitName, m *match.Hashlimit) hashlimitTable {
	t, known := mt.memory.hashlimits.get(name)
	if !known {
		t = hashlimitTable{made: m, begun: mt.memory.clock.Now()}
		mt.memory.hashlimits.put(name, t)
	}
	return t
}

func (mt *matcher) hashlimitKeyOf(s *skb, m *match.Hashlimit) hashlimitAt {
	var at hashlimitAt
	if m.Key&match.HashlimitSrcIP != 0 {
		at.src = maskedAddr(s.Src, m.SrcMask)
	}
	if m.Key&match.HashlimitDstIP != 0 {
		at.dst = maskedAddr(s.Dst, m.DstMask)
	}
	if m.Key&(match.HashlimitSrcPort|match.HashlimitDstPort) == 0 {
		return at
	}
	src, dst := mt.portWords(s)
	if m.Key&match.HashlimitSrcPort != 0 {
		at.srcPort = src
	}
	if m.Key&match.HashlimitDstPort != 0 {
		at.dstPort = dst
	}
	return at
}

// portWords are what the kernel takes for the ports of a packet (proto_ports_offset in linux/ip.h): of ESP and AH the halves of the index.
func (mt *matcher) portWords(s *skb) (src, dst uint16) {
	switch {
	case s.Proto.HasPorts():
		return s.SrcPort, s.DstPort
	case s.Proto != inet.ESP && s.Proto != inet.AH:
	case s.SPI == nil:
		mt.fail(errNoSPIPorts)
	default:
		return uint16(*s.SPI >> 16), uint16(*s.SPI)
	}
	return 0, 0
}

func maskedAddr(addr netip.Addr, bits uint8) netip.Addr {
	prefix, err := addr.Prefix(int(bits))
	if err != nil {
		return addr // a mask longer than the address keeps all of it
	}
	return prefix.Addr()
}

// newHashlimitBucket is a full bucket (rateinfo_init).
func newHashlimitBucket(m *match.Hashlimit) hashlimitBucket {
	switch {
	case m.RateMatch:
		return hashlimitBucket{}
	case m.Bytes:
		return hashlimitBucket{credit: byteCreditsPerTick * hertz, most: m.Burst}
	}
	full := hashlimitCredits(m.Interval * m.Burst)
	return hashlimitBucket{credit: full, most: full}
}

// hashlimitCredits is the number of credits of a time in MatchHashlimit's units (user2credits).
func hashlimitCredits(units uint64) uint64 {
	return units * (hertz * hashCreditsPerTick / hashlimitScale)
}

// byteCost is the credits of one chunk of bytes (user2credits_byte).
func byteCost(m *match.Hashlimit) uint64 {
	return uint64(uint32(m.Interval)) * hertz * byteCreditsPerTick >> 32
}

// refill gives the bucket what the ticks since its last packet bring (rateinfo_recalc).
func (b *hashlimitBucket) refill(m *match.Hashlimit, now int64) {
	passed := uint64(now - b.last)
	if passed == 0 {
		return
	}
	if m.RateMatch {
		window := uint64(m.RateInterval) * hertz
		if passed < window {
			return
		}
		b.last = now
		b.overBefore = b.rate*window > passed*hashlimitRate(m)
		b.rate = 0
		return
	}
	b.last = now
	each, most := uint64(hashCreditsPerTick), b.most
	if m.Bytes {
		each, most = byteCreditsPerTick, byteCreditsPerTick*hertz
	}
	if passed > (math.MaxUint64-b.credit)/each {
		b.credit = most
		return
	}
	b.credit = min(b.credit+passed*each, most)
}

// hashlimitRate is the packets or bytes of one window of --hashlimit-rate-match (user2rate, user2rate_bytes).
func hashlimitRate(m *match.Hashlimit) uint64 {
	units := max(m.Interval, 1)
	if m.Bytes {
		return (math.MaxUint32/units - 1) * byteChunk
	}
	return hashlimitScale / units
}

// take lets the packet pay, and says whether it could (hashlimit_mt_common).
func (b *hashlimitBucket) take(m *match.Hashlimit, size uint64) bool {
	if m.RateMatch {
		return b.countRate(m, size)
	}
	cost := hashlimitCredits(m.Interval)
	if m.Bytes {
		const full = byteCreditsPerTick * hertz
		cost = min((size/byteChunk+1)*byteCost(m), full)
		if b.credit < cost && b.most > 0 {
			b.most--
			b.credit = full
		}
	}
	if b.credit < cost {
		return false
	}
	b.credit -= cost
	return true
}

func (b *hashlimitBucket) countRate(m *match.Hashlimit, size uint64) bool {
	rate := hashlimitRate(m)
	burst := m.Burst + rate
	if m.Bytes {
		burst = max(m.Burst, 1) * rate
	} else {
		size = 1
	}
	b.rate += size
	return !b.overBefore && b.rate <= burst
}
