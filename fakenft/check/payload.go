package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// evalPayload adds what a header's field needs to be met, and rounds a field of some bits to whole bytes.
func (c *keyChecker) evalPayload(at *syntax.Expr, e *syntax.Payload) bool {
	c.typePayload(e)
	if !c.headerFor(e) {
		return false
	}
	c.primary(e)
	if e.Offset%8 != 0 || e.Bits%8 != 0 {
		c.wholeBytes(at, e.Offset, func(offset, bits int) { e.Offset, e.Bits = offset, bits })
	}
	return true
}

func (c *keyChecker) typePayload(e *syntax.Payload) {
	if e.Field != nil {
		e.Type, e.Bits, e.Order = e.Field.Type, e.Field.Bits, e.Field.Order
		e.Base, e.Offset = e.Header.Base, e.Field.Offset
		e.Raw = e.Raw || e.Header == syntax.HeaderTH
		return
	}
	if e.Base == expr.TransportHeader && e.Bits == 16 && (e.Offset == 0 || e.Offset == 16) {
		e.Header, e.Type = syntax.HeaderTH, syntax.TypeInetService
		e.Field = &syntax.HeaderTH.Fields[e.Offset/16]
		e.Raw = true
	}
	if e.Type == nil {
		e.Type = syntax.Sized(syntax.TypeInteger, e.Bits)
	}
	e.Order = syntax.BigEndian
}

var baseNames = [...]string{expr.LinkHeader: "link layer", expr.NetworkHeader: "network layer", expr.TransportHeader: "transport layer"}

// headerFor sees to it that the packet has the header of a field.
func (c *keyChecker) headerFor(e *syntax.Payload) bool {
	if e.Raw || e.Header == nil {
		return true
	}
	h := c.desc[e.Base]
	if h == nil {
		s, ok := c.headerNeed(e)
		if !ok {
			return false
		}
		c.before(s)
		h = c.desc[e.Base]
		if h == e.Header {
			return c.icmpFor(e)
		}
		if e.Base == expr.LinkHeader {
			return c.stackedFor(e, h)
		}
	}
	if e.Base == expr.TransportHeader && h != nil && h.Base == e.Base {
		if other := c.ambiguous(e.Header); other != nil {
			return c.wrong(conflict(other, e.Header), e.Loc)
		}
	}
	if h == e.Header {
		if h.Base == expr.LinkHeader {
			for _, below := range c.stacked {
				e.Offset += length(below)
			}
		}
		return c.icmpFor(e)
	}
	if h != nil && e.Base == h.Base {
		done, ok := c.resolve(h, e)
		if done || !ok {
			return ok
		}
		if c.desc[e.Base] == e.Header {
			return true
		}
	}
	return c.wrong(conflict(c.desc[e.Base], e.Header), e.Loc)
}

// stackedFor is for a header behind the link header, such as that of a VLAN, in families that begin with the network header.
func (c *keyChecker) stackedFor(e *syntax.Payload, h *syntax.Header) bool {
	number, ok := h.Number(e.Header)
	if !ok {
		return c.wrong(conflict(h, e.Header), e.Loc)
	}
	s, ok := c.need(e.Loc, payloadOf(e.Loc, h, h.Next), number)
	if !ok {
		return c.wrong("dependency statement is invalid", e.Loc)
	}
	if len(c.stacked) > 0 {
		e.Offset += length(c.stacked[0])
	}
	c.before(s)
	return true
}

// resolve finds out whether a field's header may stand beside the one that the rule has at the same base. done: nothing more is needed.
func (c *keyChecker) resolve(h *syntax.Header, e *syntax.Payload) (done, ok bool) {
	if e.Base == expr.LinkHeader {
		if h == syntax.HeaderInet || h == syntax.HeaderNetdev {
			if !hasDevice(e.Header) {
				return false, c.wrong("protocol specification is invalid for this family", e.Loc)
			}
			s, ok := c.need(e.Loc, metaOf(e.Loc, expr.MetaIiftype), 1)
			if !ok {
				return false, c.wrong("dependency statement is invalid", e.Loc)
			}
			h = e.Header
			c.before(s)
			if c.desc[expr.LinkHeader] != h && c.desc[expr.LinkHeader] == syntax.HeaderEther {
				h = syntax.HeaderEther
			}
		} else {
			for _, below := range c.stacked {
				if below == e.Header {
					return true, true
				}
			}
		}
	}
	if e.Base < expr.TransportHeader && c.desc[e.Base+1] != nil {
		return false, true
	}
	number, linked := h.Number(e.Header)
	if !linked || e.Base != expr.LinkHeader {
		return false, true
	}
	of := c.desc[e.Base]
	s, ok := c.need(e.Loc, payloadOf(e.Loc, of, of.Next), number)
	if !ok {
		return false, true
	}
	for _, below := range c.stacked {
		e.Offset += length(below)
	}
	c.before(s)
	return true, true
}

// hasDevice says whether a header is that of a kind of device, or what follows such a one.
func hasDevice(h *syntax.Header) bool {
	if h == syntax.HeaderEther {
		return true
	}
	_, ok := syntax.HeaderEther.Number(h)
	return ok
}

// headerNeed makes the match that a packet has the header of a field.
func (c *keyChecker) headerNeed(e *syntax.Payload) (syntax.Stmt, bool) {
	first, _ := beginning(c.family)
	if e.Base < first {
		if e.Base+1 < first {
			return nil, c.wrong("payload base is invalid for this family", e.Loc)
		}
		if !hasDevice(e.Header) {
			return nil, c.wrong("protocol specification is invalid for this family", e.Loc)
		}
		s, ok := c.need(e.Loc, metaOf(e.Loc, expr.MetaIiftype), 1)
		if !ok {
			return nil, c.wrong("dependency statement is invalid", e.Loc)
		}
		return s, true
	}
	h := c.desc[e.Base-1]
	if h == nil {
		h = c.lowerHeader(e)
	}
	if h == nil {
		return nil, c.wrong(fmt.Sprintf("ambiguous payload specification: no %s protocol specified", baseNames[e.Base-1]), e.Loc)
	}
	if c.family == nftables.Bridge && h == syntax.HeaderEther && (e.Header == syntax.HeaderIP || e.Header == syntax.HeaderIP6) {
		h = syntax.HeaderNetdev
	}
	return c.linkNeed(h, e.Header, e.Loc)
}

// lowerHeader is the header whose value says that a field's header follows, if the rule has not named one yet.
func (c *keyChecker) lowerHeader(e *syntax.Payload) *syntax.Header {
	if e.Base != expr.TransportHeader {
		return nil
	}
	switch e.Header {
	case syntax.HeaderICMP, syntax.HeaderICMPv6, syntax.HeaderIGMP:
		link := c.desc[expr.LinkHeader]
		if link == nil {
			return syntax.HeaderInetService
		}
		upper := syntax.HeaderIP
		if e.Header == syntax.HeaderICMPv6 {
			upper = syntax.HeaderIP6
		}
		s, ok := c.linkNeed(link, upper, e.Loc)
		if !ok {
			return nil
		}
		c.before(s)
		return upper
	}
	return syntax.HeaderInetService
}

// linkNeed makes the match that one header follows another one.
func (c *keyChecker) linkNeed(h, upper *syntax.Header, at syntax.Loc) (syntax.Stmt, bool) {
	number, ok := h.Number(upper)
	if !ok {
		return nil, c.wrong(conflict(h, upper), at)
	}
	var left syntax.Expr
	if h.Next.HasMeta {
		left = metaOf(at, h.Next.Meta)
	} else {
		left = payloadOf(at, h, h.Next)
	}
	s, ok := c.need(at, left, number)
	if !ok {
		return nil, c.wrong("dependency statement is invalid", at)
	}
	return s, true
}

// icmpTypes are the types of messages that have a field; the first one stands for them.
var icmpTypes = map[*syntax.Field][]uint64{
	syntax.HeaderICMP.Field("id"): {8, 0}, syntax.HeaderICMP.Field("sequence"): {8, 0}, syntax.HeaderICMP.Field("gateway"): {5},
	syntax.HeaderICMP.Field("mtu"):  {3},
	syntax.HeaderICMPv6.Field("id"): {128, 129}, syntax.HeaderICMPv6.Field("sequence"): {128, 129},
	syntax.HeaderICMPv6.Field("mtu"): {2}, syntax.HeaderICMPv6.Field("parameter-problem"): {4},
	syntax.HeaderICMPv6.Field("max-delay"): {130},
}

// icmpFor sees to it that a message of ICMP is of a type that has the field.
func (c *keyChecker) icmpFor(e *syntax.Payload) bool {
	types := icmpTypes[e.Field]
	if types == nil || uint64(c.icmp) == types[0] {
		return true
	}
	if c.icmp != 0 {
		return c.wrong(fmt.Sprintf("incompatible icmp match: rule has %d, need %d", c.icmp, types[0]), e.Loc)
	}
	left := payloadOf(e.Loc, e.Header, e.Header.Field("type"))
	c.icmp = uint8(types[0])
	var s syntax.Stmt
	var ok bool
	if len(types) == 1 {
		s, ok = c.need(e.Loc, left, types[0])
	} else {
		s, ok = c.needOneOf(e.Loc, left, types)
	}
	if !ok {
		return c.wrong("icmp dependency statement is invalid", e.Loc)
	}
	c.icmp = uint8(types[0])
	c.before(s)
	return true
}

// wholeBytes turns a field of some bits into the bytes that it lies in, without the other bits, shifted down.
func (c *keyChecker) wholeBytes(at *syntax.Expr, offset int, set func(offset, bits int)) {
	k := *(*at).Info()
	rounded := (k.Bits + 7) / 8 * 8
	shift := rounded - (offset%8 + k.Bits)
	for shift < 0 {
		shift += 8
		rounded += 8
	}
	set(offset/8*8, rounded)
	masked := k
	masked.Bits = rounded
	mask := &syntax.Value{Common: masked, Num: syntax.Ones(k.Bits).Left(uint(shift))}
	and := &syntax.Binop{Common: masked, Op: syntax.OpAnd, Left: *at, Right: mask}
	*at = and
	if shift != 0 {
		by := &syntax.Value{
			Common: syntax.Common{Loc: k.Loc, Type: syntax.TypeInteger, Order: syntax.HostOrder, Bits: 8}, Num: syntax.NumOf(uint64(shift)),
		}
		result := masked
		result.Bits = k.Bits + shift // an operator that sets bits masks as many
		*at = &syntax.Binop{Common: result, Op: syntax.OpRight, Left: and, Right: by}
	}
}
