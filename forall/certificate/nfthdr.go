package certificate

import (
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// rtTCPMSS is the key of rt for the greatest segment of a route (NFT_RT_TCPMSS).
const rtTCPMSS = 3

// clamps says whether all that expressions load of routes is written into TCP's option for the greatest segment, on which no fate depends.
func clamps(exprs []expr.Expr) bool {
	for i, e := range exprs {
		rt, is := e.(*expr.RT)
		if !is {
			continue
		}
		rest := exprs[i+1:]
		if len(rest) > 0 {
			if turn, is := rest[0].(*expr.Byteorder); is && turn.Sreg == rt.Dreg && turn.Dreg == rt.Dreg {
				rest = rest[1:]
			}
		}
		if rt.Key != rtTCPMSS || len(rest) == 0 || !writesMSS(rest[0]) {
			return false
		}
	}
	return true
}

// writesMSS says whether an expression writes the greatest segment (kind 2 of TCP's options).
func writesMSS(e expr.Expr) bool {
	x, is := e.(*expr.Exthdr)
	return is && x.Writes && x.Op == expr.ExthdrTCPOption && x.Type == 2 && x.Offset == 2 && x.Len == 2
}

// route loads something of the packet's route.
func (q *nftReading) route(e *expr.RT) {
	if !q.clamps {
		q.cannot("the expression " + expr.Text(e) + " says")
		return
	}
	q.put(e.Dreg, 4, func(int) octet { return octet{} })
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
