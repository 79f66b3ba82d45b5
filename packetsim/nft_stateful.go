package packetsim

import (
	"github.com/chainwalk/chainwalk/internal/jhash"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// stateful runs what keeps a state of its own: a rule's, an element's or an object's.
func (t *nftRun) stateful(x expr.Expr) {
	switch x := x.(type) {
	case *expr.Counter:
		t.tally.count(x.Counters, t.s)
	case *expr.Limit:
		t.limit(x)
	case *expr.Quota:
		t.quota(x)
	case *expr.Connlimit:
		t.connlimit(x)
	default:
		t.notWalked(x, "as an object")
	}
}

// nftBucket is the state of a limit: how many nanoseconds' worth is left, and when it was counted.
type nftBucket struct{ tokens, last int64 }

// defaultBurst is that of a limit of packets that says none (NFT_LIMIT_PKT_BURST_DEFAULT).
const defaultBurst = 5

// limit is limit (net/netfilter/nft_limit.c).
func (t *nftRun) limit(x *expr.Limit) {
	rate, unit, burst := int64(x.Rate), int64(x.Unit), int64(x.Burst)
	if rate == 0 {
		t.notWalked(x, "a rate of 0")
		return
	}
	var most, cost int64
	if x.Bytes {
		most, cost = unit*(rate+burst)/rate, unit*int64(t.s.Size())/rate
	} else {
		if burst == 0 {
			burst = defaultBurst
		}
		cost = unit / rate
		most = cost * burst
	}
	limits, now := &t.targets.memory.nftLimits, t.targets.memory.clock.Now().UnixNano()
	bucket, begun := limits.get(x)
	if !begun {
		bucket = nftBucket{most, now}
	}
	bucket.tokens, bucket.last = min(bucket.tokens+now-bucket.last, most), now
	exceeds := bucket.tokens < cost
	if !exceeds {
		bucket.tokens -= cost
	}
	limits.put(x, bucket)
	if exceeds != x.Over {
		t.code = expr.Break
	}
}

// quota is quota (net/netfilter/nft_quota.c).
func (t *nftRun) quota(x *expr.Quota) {
	used := &t.targets.memory.nftQuotas
	more, _ := used.get(x)
	more += uint64(t.s.Size())
	used.put(x, more)
	if x.Consumed != nil {
		more += x.Consumed.Bytes()
	}
	if (more > x.Bytes) != x.Over {
		t.code = expr.Break
	}
}

// nftQuotas are the bytes that packets have consumed of quotas since the outermost checkpoint; kept, they are the quotas' own.
type nftQuotas struct {
	remembered[*expr.Quota, uint64]
}

func (q *nftQuotas) keep(depth int) {
	q.remembered.keep(depth)
	if depth > 1 || len(q.layers) == 0 {
		return
	}
	for x, bytes := range q.layers[0].values {
		if x.Consumed != nil {
			x.Consumed.Add(0, bytes)
			delete(q.layers[0].values, x)
		}
	}
}

// connlimit is ct count (net/netfilter/nft_connlimit.c).
func (t *nftRun) connlimit(x *expr.Connlimit) {
	lists, match := &t.targets.memory.nftConnlimits, t.targets.match
	list, known := lists.get(x)
	own, c := match.countedOf(t.s)
	if known {
		list = match.countConn(list, own, c)
	} else {
		list = connlimitList{conns: []countedConn{own}, swept: t.targets.memory.tick}
	}
	lists.put(x, list)
	if (uint32(len(list.conns)) > x.Count) != x.Over {
		t.code = expr.Break
	}
}

// numgen is numgen (net/netfilter/nft_numgen.c).
func (t *nftMachine) numgen(x *expr.Numgen) {
	at := uint8(x.Dreg.Offset())
	if x.Random {
		t.regs.put4(at, drawOneOf(t.chance, x.Modulus)+x.Offset)
		return
	}
	numbers := &t.targets.memory.nftNumbers
	last, begun := numbers.get(x)
	next := last + 1
	if !begun || next >= x.Modulus {
		next = 0
	}
	numbers.put(x, next)
	t.regs.put4(at, next+x.Offset)
}

// hashedBy is what a hash whose seed the kernel has drawn gave for a key before.
type hashedBy struct {
	x   *expr.Hash
	key string
}

// hash is jhash (net/netfilter/nft_hash.c).
func (t *nftMachine) hash(x *expr.Hash) {
	if x.Symmetric {
		t.notWalked(x, "symhash, which has a secret of the kernel's")
		return
	}
	from, at := x.Sreg.Offset(), uint8(x.Dreg.Offset())
	if !t.regs.knows(from, x.Len) {
		t.fail(errRegisterUnknown)
		return
	}
	key := t.regs.bytes(from, x.Len)
	if x.HasSeed {
		t.regs.put4(at, jhash.Scale(jhash.Bytes(key, x.Seed), x.Modulus)+x.Offset)
		return
	}
	known := &t.targets.memory.nftHashes
	by := hashedBy{x, string(key)}
	n, has := known.get(by)
	if !has {
		n = drawOneOf(t.chance, x.Modulus)
		known.put(by, n)
	}
	t.regs.put4(at, n+x.Offset)
}
