package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// keyChecker evaluates what is read of a packet. It gives it its type, and adds the matches that the packet has it at all.
type keyChecker struct {
	*notes
	*state
	*nodes
	exprs *exprChecker
}

// need makes a match that an expression needs: that something is a number.
func (c *keyChecker) need(at syntax.Loc, left syntax.Expr, value uint64) (syntax.Stmt, bool) {
	k := left.Info()
	right, relation, match := c.values.New(), c.relations.New(), c.matches.New()
	right.Common, right.Num = syntax.Common{Loc: at, Type: k.Type, Order: k.Order, Bits: k.Bits}, syntax.NumOf(value)
	relation.Loc, relation.Op, relation.Left, relation.Right = at, syntax.OpEq, left, right
	match.Loc, match.Expr = at, relation
	saved := c.want
	defer func() { c.want = saved }()
	if !c.exprs.eval(&match.Expr) {
		return nil, false
	}
	return match, true
}

// needOneOf makes the match that something is one of two numbers.
func (c *keyChecker) needOneOf(at syntax.Loc, left *syntax.Payload, values []uint64) (syntax.Stmt, bool) {
	set := &syntax.Set{Common: syntax.Common{Loc: at}}
	for _, n := range values {
		v := &syntax.Value{Common: left.Common, Num: syntax.NumOf(n)}
		set.Items = append(set.Items, &syntax.Element{Common: left.Common, Key: v})
	}
	var match syntax.Expr = &syntax.Relational{Common: syntax.Common{Loc: at}, Op: syntax.OpImplicit, Left: left, Right: set}
	saved := c.want
	defer func() { c.want = saved }()
	if !c.exprs.eval(&match) {
		return nil, false
	}
	return &syntax.Match{At: syntax.At{Loc: at}, Expr: match}, true
}

func (c *keyChecker) evalMeta(e *syntax.Meta) bool {
	e.Type, e.Bits, e.Order = syntax.MetaType(e.Key)
	if e.Key == expr.MetaNfproto && c.family != nftables.Inet {
		return c.wrong("meta nfproto is only useful in the inet family", e.Loc)
	}
	c.primary(e)
	if e.Key == expr.MetaTimeDay {
		c.want.max = 6
	}
	return true
}

func (c *keyChecker) evalXFRM(e *syntax.XFRM) bool {
	if k := syntax.XFRMKeyOf(e.Key); k != nil {
		e.Type, e.Bits, e.Order = k.Type, k.Bits, k.Order
	}
	switch c.family {
	case nftables.IPv4, nftables.IPv6, nftables.Inet:
		return c.primary(e)
	}
	return c.wrong("ipsec expression is only valid in ip/ip6/inet tables", e.Loc)
}

func (c *keyChecker) evalRT(e *syntax.RT) bool {
	const unknown = `cannot determine ip protocol version, use "ip nexthop" or "ip6 nexthop" instead`
	e.Type, e.Bits, e.Order = syntax.RTType(e.Key)
	if e.Key == syntax.RTNexthop4 {
		switch network := c.desc[expr.NetworkHeader]; {
		case network == syntax.HeaderIP6:
			e.Key = syntax.RTNexthop6
			e.Type, e.Bits, e.Order = syntax.RTType(e.Key)
		case network != syntax.HeaderIP && e.NFProto == 0:
			return c.wrong(unknown, e.Loc)
		}
	}
	switch {
	case e.Key == syntax.RTNexthop4 && c.family == nftables.IPv6:
		return c.wrong("ip nexthop will not match", e.Loc)
	case e.Key == syntax.RTNexthop6 && c.family == nftables.IPv4:
		return c.wrong("ip6 nexthop will not match", e.Loc)
	}
	return c.primary(e)
}

// evalExthdr adds what an optional header needs to be met.
func (c *keyChecker) evalExthdr(at *syntax.Expr, e *syntax.Exthdr) bool {
	var needs *syntax.Header
	switch e.Op {
	case expr.ExthdrIPv4:
		needs = syntax.HeaderIP
	case expr.ExthdrIPv6:
		needs = syntax.HeaderIP6
	}
	if h := c.desc[expr.NetworkHeader]; needs != nil && h != needs {
		if h != nil {
			return c.wrong("cannot use exthdr with "+h.Name, e.Loc)
		}
		link := c.desc[expr.LinkHeader]
		if link == nil {
			return c.wrong("Cannot generate dependency: no link layer protocol specified", e.Loc)
		}
		s, ok := c.linkNeed(link, needs, e.Loc)
		if !ok {
			return false
		}
		c.first(s)
	}
	return c.typeExthdr(at, e)
}

func (c *keyChecker) typeExthdr(at *syntax.Expr, e *syntax.Exthdr) bool {
	if e.Field != nil {
		e.Type, e.Bits, e.Order, e.Offset = e.Field.Type, e.Field.Bits, e.Field.Order, e.Field.Offset
	}
	if e.Type == nil {
		e.Type = syntax.TypeInteger
		if e.Bits == 0 {
			e.Bits = 8
		}
	}
	e.Order = syntax.BigEndian
	if e.Header != nil {
		e.RawType = e.Header.ExtType
	}
	if e.Present {
		e.Type, e.Offset, e.Bits = syntax.TypeBoolean, 0, 8
	}
	c.primary(e)
	end := e.Offset + e.Bits
	if e.Offset%8 != 0 || e.Bits%8 != 0 {
		c.wholeBytes(at, e.Offset, func(offset, bits int) { e.Offset, e.Bits = offset, bits })
	}
	switch {
	case e.Op == expr.ExthdrTCPOption && end > 320:
		return c.wrong(fmt.Sprintf("offset and size %d exceeds max tcp headerlen (%d)", end, 320), e.Loc)
	case e.Op == expr.ExthdrIPv4 && end > 320:
		return c.wrong(fmt.Sprintf("offset and size %d exceeds max ip option len (%d)", end, 320), e.Loc)
	}
	return true
}
