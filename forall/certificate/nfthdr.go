package certificate

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// writesMSS says whether an expression writes the greatest segment (kind 2 of TCP's options).
func writesMSS(e expr.Expr) bool {
	x, is := e.(*expr.Exthdr)
	return is && x.Writes && x.Op == expr.ExthdrTCPOption && x.Type == 2 && x.Offset == 2 && x.Len == 2
}

// route loads something of the packet's route. The greatest segment may be written into TCP's options, on which no fate depends.
func (q *nftReading) route(e *expr.RT) {
	if e.Key != expr.RTTCPMSS {
		q.cannot("the expression " + expr.Text(e) + " says")
		return
	}
	q.put(e.Dreg, 4, func(int) octet { return octet{kind: ofRoute} })
}

// segments is what cannot be checked of a route.
const segments = "the route says of segments"

// takes refuses to put into a packet, or beside it, what may differ by routes.
func (q *nftReading) takes(from expr.Register) {
	if from != 0 && q.regs[from.Offset()].kind == ofRoute {
		q.cannot(segments)
	}
}

// exthdr reads a header that packets need not have, or writes the greatest segment, which packets other than TCP's miss.
func (q *nftReading) exthdr(e *expr.Exthdr) {
	isTCP := fails
	if e.Op == expr.ExthdrTCPOption {
		isTCP = q.test(proto, []span{one(number(uint64(inet.TCP)))}, false)
	}
	switch {
	case isTCP == cuts, isTCP == holds && writesMSS(e):
	case isTCP == holds, e.Writes && !writesMSS(e), e.Op == expr.ExthdrIPv6, e.Op == expr.ExthdrIPv4 && q.six:
		q.cannot("the expression " + expr.Text(e) + " says")
	case e.Present:
		q.put(e.Dreg, 4, func(int) octet { return octet{kind: known} })
	default:
		q.failed = true
	}
}
