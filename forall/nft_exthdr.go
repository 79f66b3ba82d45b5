package forall

import (
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The kind of TCP's option for the greatest segment, and what it has of it (include/net/tcp.h).
const (
	optionMSS   = 2
	atMSS       = 2
	lengthOfMSS = 2
)

// extensionHeaders are the headers of IPv6 behind which another one comes.
var extensionHeaders = []inet.Proto{0, 43, 44, inet.AH, 60}

// greatestSegment is what a route says of segments (net/netfilter/nft_rt.c), for which no variable stands: a rule may write it, and no
// condition is known of it.
var greatestSegment = &load{kind: loadUnknown, size: 4}

// exthdr loads something of a header that packets need not have, or writes the greatest segment into TCP's options
// (net/netfilter/nft_exthdr.c). A first packet has options of TCP that nobody knows, and no other ones.
func (x *nftRun) exthdr(e *expr.Exthdr, i int) diagram.ID {
	b := x.b
	isTCP := func() diagram.ID {
		q := b.newCond(&x.st)
		q.protos(false, inet.TCP)
		return q.id()
	}
	switch {
	case e.Op == expr.ExthdrTCPOption && e.Writes && e.Type == optionMSS && e.Offset == atMSS && e.Len == lengthOfMSS:
		altered := x.fork()
		altered.st.altered = true
		return b.then(isTCP(), altered.from(i+1), x.breaks())
	case e.Writes:
	case e.Op == expr.ExthdrTCPOption:
		return b.then(isTCP(), b.unmodelled("an option of TCP"), lacks(x, e, i))
	case e.Op == expr.ExthdrIPv6 && b.six:
		q := b.newCond(&x.st)
		q.protos(false, slices.Concat(extensionHeaders, []inet.Proto{inet.Proto(e.Type)})...)
		return b.then(q.id(), b.unmodelled(extended), lacks(x, e, i))
	case e.Op == expr.ExthdrIPv4 && !b.six:
		return lacks(x, e, i)
	case e.Op == expr.ExthdrIPv6 || e.Op == expr.ExthdrIPv4:
		return x.breaks()
	}
	return b.unmodelled("the expression " + expr.Text(e))
}

// lacks is what a header loads that is not there.
func lacks(x *nftRun, e *expr.Exthdr, i int) diagram.ID {
	if e.Present {
		return x.put(e.Dreg, constant(make([]byte, 4)), i)
	}
	return x.breaks()
}
