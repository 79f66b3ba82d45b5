package check

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// protocols are what the matches of a rule so far say of the packet (struct proto_ctx in nft).
type protocols struct {
	family nftables.Family
	// desc is the header at each base, and where it was said; of several transport protocols the last one.
	desc [3]*syntax.Header
	said [3]syntax.Loc
	// transports are all transport protocols that were named.
	transports []*syntax.Header
	stacked    []*syntax.Header // link headers before the last one
	icmp       uint8            // the type of ICMP; 0 if none was named
}

// headerUnknown is a protocol that nft does not know.
var headerUnknown = &syntax.Header{Name: "unknown"}

// beginning is what a packet of a family begins with.
func beginning(f nftables.Family) (expr.PayloadBase, *syntax.Header) {
	switch f {
	case nftables.IPv4:
		return expr.NetworkHeader, syntax.HeaderIP
	case nftables.IPv6:
		return expr.NetworkHeader, syntax.HeaderIP6
	case nftables.ARP:
		return expr.NetworkHeader, syntax.HeaderARP
	case nftables.Bridge:
		return expr.LinkHeader, syntax.HeaderEther
	case nftables.Netdev:
		return expr.LinkHeader, syntax.HeaderNetdev
	}
	return expr.LinkHeader, syntax.HeaderInet
}

func (p *protocols) begin(f nftables.Family) {
	base, h := beginning(f)
	*p = protocols{family: f}
	p.desc[base] = h
}

// say notes that a header is there.
func (p *protocols) say(base expr.PayloadBase, at syntax.Loc, h *syntax.Header) {
	p.desc[base], p.said[base] = h, at
	if base == expr.TransportHeader && !slices.Contains(p.transports, h) {
		p.transports = append(p.transports, h)
	}
}

// learn takes from a comparison for equality what it says of protocols. If it is with a set, each of its values counts.
func (p *protocols) learn(e *syntax.Relational) {
	if !isProtocol(e.Left) {
		return
	}
	if set, ok := e.Right.(*syntax.Set); ok {
		for _, item := range set.Items {
			if el, ok := item.(*syntax.Element); ok {
				if v, ok := el.Key.(*syntax.Value); ok {
					p.learnOne(e.Loc, e.Left, v)
				}
			}
		}
		return
	}
	if v, ok := e.Right.(*syntax.Value); ok {
		p.learnOne(e.Loc, e.Left, v)
	}
}

// isProtocol says whether the value of an expression names the next header.
func isProtocol(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Payload:
		if e.Header == nil || e.Field == nil {
			return false
		}
		return e.Header.Next == e.Field || (e.Header == syntax.HeaderICMP || e.Header == syntax.HeaderICMPv6) && e.Field.Name == "type"
	case *syntax.Meta:
		switch e.Key {
		case expr.MetaIiftype, expr.MetaNfproto, expr.MetaL4proto, expr.MetaProtocol:
			return true
		}
	case *syntax.CT:
		return e.Key == expr.CTL3Protocol || e.Key == expr.CTProtocol
	}
	return false
}

func (p *protocols) learnOne(at syntax.Loc, left syntax.Expr, v *syntax.Value) {
	switch e := left.(type) {
	case *syntax.Payload:
		p.learnPayload(at, e, v.Num.Lo)
	case *syntax.Meta:
		p.learnMeta(at, e.Key, v.Num.Lo)
	case *syntax.CT:
		base := expr.NetworkHeader
		if e.Key == expr.CTL3Protocol {
			base = expr.LinkHeader
		}
		if of := p.desc[base]; of != nil {
			if h := of.Following(v.Num.Lo); h != nil {
				p.say(base+1, at, h)
			}
		}
	}
}

func (p *protocols) learnPayload(at syntax.Loc, e *syntax.Payload, value uint64) {
	base := p.desc[e.Base]
	if base == nil {
		return
	}
	h := base.Following(value)
	if h == nil {
		switch base {
		case syntax.HeaderICMP:
			p.icmp = uint8(value)
			if value == 0 {
				p.icmp = 8
			}
		case syntax.HeaderICMPv6:
			p.icmp = uint8(value)
			if value == 129 {
				p.icmp = 128
			}
		}
		return
	}
	if h.Base == expr.LinkHeader && base.Base == expr.LinkHeader {
		p.stacked = append(p.stacked, base)
	}
	p.say(h.Base, at, h)
}

func (p *protocols) learnMeta(at syntax.Loc, key expr.MetaKey, value uint64) {
	base, first := beginning(p.family)
	h := headerUnknown
	switch key {
	case expr.MetaIiftype:
		if base < expr.NetworkHeader && p.family != nftables.Inet && p.family != nftables.Netdev {
			return
		}
		if value == 1 {
			h = syntax.HeaderEther
		}
		p.say(expr.LinkHeader, at, h)
	case expr.MetaNfproto:
		if value == uint64(p.family) && base == expr.NetworkHeader {
			return
		}
		if next := first.Following(value); next != nil {
			h = next
		}
		p.say(expr.NetworkHeader, at, h)
	case expr.MetaL4proto:
		if next := syntax.HeaderInetService.Following(value); next != nil {
			h = next
		}
		p.say(expr.TransportHeader, at, h)
	case expr.MetaProtocol:
		if base != expr.LinkHeader || p.family != nftables.Netdev && p.family != nftables.Bridge {
			return
		}
		if next := first.Following(value); next != nil {
			h = next
		}
		p.say(expr.NetworkHeader, at, h)
	}
}

// ambiguous is a transport protocol that a match named beside one, if there are several.
func (p *protocols) ambiguous(beside *syntax.Header) *syntax.Header {
	if len(p.transports) < 2 {
		return nil
	}
	for _, h := range p.transports {
		if h != beside {
			return h
		}
	}
	return nil
}

func length(h *syntax.Header) int {
	end := 0
	for i := range h.Fields {
		end = max(end, h.Fields[i].Offset+h.Fields[i].Bits)
	}
	return end
}

func conflict(a, b *syntax.Header) string { return conflictOfNames(a.Name, b.Name) }

func conflictOfNames(a, b string) string {
	return fmt.Sprintf("conflicting protocols specified: %s vs. %s", a, b)
}

// metaOf is an expression of meta.
func metaOf(at syntax.Loc, key expr.MetaKey) *syntax.Meta {
	t, bits, order := syntax.MetaType(key)
	return &syntax.Meta{Common: syntax.Common{Loc: at, Type: t, Bits: bits, Order: order}, Key: key}
}

// payloadOf is an expression of a header's field.
func payloadOf(at syntax.Loc, h *syntax.Header, f *syntax.Field) *syntax.Payload {
	return &syntax.Payload{
		Common: syntax.Common{Loc: at, Type: f.Type, Bits: f.Bits, Order: f.Order},
		Header: h, Field: f, Base: h.Base, Offset: f.Offset,
	}
}

// withoutOwnFamily leaves out questions for the protocol that all packets of the family have, but for the last statement (stmt_reduce in
// nft's src/rule.c).
func withoutOwnFamily(family nftables.Family, stmts []syntax.Stmt) []syntax.Stmt {
	own := uint64(0)
	switch family {
	case nftables.IPv4:
		own = 0x0800
	case nftables.IPv6:
		own = 0x86dd
	default:
		return stmts
	}
	last := len(stmts) - 1
	at := -1
	return slices.DeleteFunc(stmts, func(s syntax.Stmt) bool {
		at++
		return at < last && asksProtocol(s, own)
	})
}

// asksProtocol says whether a statement is "meta protocol" of one value.
func asksProtocol(s syntax.Stmt, protocol uint64) bool {
	m, isMatch := s.(*syntax.Match)
	if !isMatch {
		return false
	}
	rel, isRelational := m.Expr.(*syntax.Relational)
	if !isRelational || rel.Op != syntax.OpEq && rel.Op != syntax.OpImplicit {
		return false
	}
	meta, isMeta := rel.Left.(*syntax.Meta)
	v, isValue := rel.Right.(*syntax.Value)
	return isMeta && isValue && meta.Key == expr.MetaProtocol && v.Num.Hi == 0 && v.Num.Lo == protocol
}
