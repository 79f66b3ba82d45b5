package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// evalCT gives addresses and ports of a connection their types, by the protocols that the rule has named.
func (c *keyChecker) evalCT(e *syntax.CT) bool {
	e.Type, e.Bits, e.Order = syntax.CTType(e.Key)
	network := c.desc[expr.NetworkHeader]
	switch e.Key {
	case expr.CTSrc, expr.CTDst:
		c.ctNeed(e, network)
		c.ctAddress(e)
	case expr.CTSrcIP, expr.CTDstIP:
		if network == syntax.HeaderIP6 {
			return c.wrong(conflict(network, syntax.HeaderIP), e.Loc, c.said[expr.NetworkHeader])
		}
	case expr.CTSrcIP6, expr.CTDstIP6:
		if network == syntax.HeaderIP {
			return c.wrong(conflict(network, syntax.HeaderIP6), e.Loc, c.said[expr.NetworkHeader])
		}
	case expr.CTProtoSrc, expr.CTProtoDst:
		if c.desc[expr.TransportHeader] == nil {
			e.Type = syntax.TypeInvalid
		} else {
			e.Type = syntax.TypeInetService
		}
	}
	return c.primary(e)
}

func (c *keyChecker) ctAddress(e *syntax.CT) {
	family := e.NFProto
	if family == 0 {
		family = uint8(c.family)
	}
	switch family {
	case uint8(nftables.IPv4):
		e.Type, e.Bits = syntax.TypeIPv4Addr, 32
	case uint8(nftables.IPv6):
		e.Type, e.Bits = syntax.TypeIPv6Addr, 128
	}
}

// ctNeed adds the match of a family that an address of a connection needs.
func (c *keyChecker) ctNeed(e *syntax.CT, network *syntax.Header) {
	var h *syntax.Header
	switch e.NFProto {
	case uint8(nftables.IPv4):
		h = syntax.HeaderIP
	case uint8(nftables.IPv6):
		h = syntax.HeaderIP6
	default:
		h = network
		if h == syntax.HeaderIP {
			e.NFProto = uint8(nftables.IPv4)
		}
		if h == nil {
			way := "d"
			if e.Key == expr.CTSrc {
				way = "s"
			}
			c.wrong(fmt.Sprintf(`cannot determine ip protocol version, use "ip %[1]saddr" or "ip6 %[1]saddr" instead`, way), e.Loc)
			return
		}
	}
	if h == network {
		return
	}
	if network != nil {
		c.wrong(fmt.Sprintf("conflicting dependencies: %s vs. %s\n", h.Name, network.Name), e.Loc)
		return
	}
	if c.family == nftables.IPv4 || c.family == nftables.IPv6 {
		return
	}
	t, bits, order := syntax.CTType(expr.CTL3Protocol)
	left := &syntax.CT{Common: syntax.Common{Loc: e.Loc, Type: t, Bits: bits, Order: order}, Key: expr.CTL3Protocol, Dir: e.Dir}
	right := &syntax.Value{Common: left.Common, Num: syntax.NumOf(uint64(e.NFProto))}
	match := &syntax.Relational{Common: syntax.Common{Loc: e.Loc}, Op: syntax.OpEq, Left: left, Right: right}
	c.learn(match)
	c.before(&syntax.Match{At: syntax.At{Loc: e.Loc}, Expr: match})
}
