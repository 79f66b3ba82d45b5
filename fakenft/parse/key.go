package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// fib takes what the routing tables say.
func (p *keyParser) fib() syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.Fib{}
	flags := p.here()
	for {
		flag := fibFlags[p.peek()]
		if flag == 0 {
			p.unexpected(anything...)
			return nil
		}
		p.take()
		e.Flags |= flag
		if !p.accept(tokDot) {
			break
		}
	}
	flags = p.since(flags)
	switch p.peek() {
	case tokOif:
		p.take()
		e.Result = expr.FibOif
	case tokOifname:
		p.take()
		e.Result = expr.FibOifname
	case tokType:
		p.take()
		p.close(scopeType)
		e.Result = expr.FibType
	default:
		p.unexpected(tokOif, tokOifname, tokType)
		return nil
	}
	p.close(scopeFib)
	switch e.Flags & (expr.FibSaddr | expr.FibDaddr) {
	case 0:
		p.wrong("fib: need either saddr or daddr", flags)
		return nil
	case expr.FibSaddr | expr.FibDaddr:
		p.wrong("fib: saddr and daddr are mutually exclusive", flags)
		return nil
	}
	e.Loc = p.since(from)
	return e
}

var fibFlags = map[token]expr.FibFlags{
	tokSaddr: expr.FibSaddr, tokDaddr: expr.FibDaddr, tokMark: expr.FibMark, tokIif: expr.FibIif, tokOif: expr.FibOifFlag,
}

// routing takes something of the route, or a field of a routing header.
func (p *keyParser) routing() syntax.Expr {
	from := p.here()
	p.take()
	switch p.peek() {
	case tokNexthdr, tokHdrlength, tokType, tokSegLeft:
		return p.extensionField(extensions[tokRt].header, from, scopeRT)
	}
	return p.route(from)
}

// route takes what follows "rt": something of the route.
func (p *keyParser) route(from syntax.Loc) syntax.Expr {
	e := &syntax.RT{}
	t := p.peek()
	switch t {
	case tokIp, tokIp6:
		p.take()
		p.close(opens[t])
		e.NFProto = uint8(nftables.IPv4)
		if t == tokIp6 {
			e.NFProto = uint8(nftables.IPv6)
		}
		t = p.peek()
	}
	switch t {
	case tokClassid:
		e.Key = syntax.RTClassid
	case tokNexthop:
		e.Key = syntax.RTNexthop4
		if e.NFProto == uint8(nftables.IPv6) {
			e.Key = syntax.RTNexthop6
		}
	case tokMtu:
		e.Key = syntax.RTMTU
	case tokIpsec:
		e.Key = syntax.RTIPsec
	default:
		if e.NFProto == 0 {
			p.unexpected(anything...)
		} else {
			p.unexpected(tokClassid, tokNexthop, tokMtu, tokIpsec)
		}
		return nil
	}
	p.take()
	if t == tokIpsec {
		p.close(scopeIPsec)
	}
	p.close(scopeRT)
	e.Loc = p.since(from)
	return e
}

func (p *keyParser) socket() syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.Socket{}
	switch p.peek() {
	case tokTransparent:
		e.Key = syntax.SocketTransparent
	case tokMark:
		e.Key = syntax.SocketMark
	case tokWildcard:
		e.Key = syntax.SocketWildcard
	case tokCgroupv2:
		e.Key = syntax.SocketCgroupv2
	default:
		p.unexpected(tokTransparent, tokMark, tokWildcard, tokCgroupv2)
		return nil
	}
	p.take()
	if e.Key == syntax.SocketCgroupv2 {
		p.expect(tokLevel)
		e.Level = uint32(p.number())
	}
	p.close(scopeSocket)
	e.Loc = p.since(from)
	return e
}

func (p *keyParser) osf() syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.Osf{}
	if p.accept(tokTtl) {
		switch word := p.identifier(); {
		case p.bad:
		case word == "loose":
			e.TTL = 1
		case word == "skip":
			e.TTL = 2
		default:
			p.wrong("invalid ttl option", p.last)
		}
	}
	switch p.peek() {
	case tokVersion:
		e.Version = true
	case tokName:
	default:
		p.unexpected(tokVersion, tokName)
		return nil
	}
	p.take()
	p.close(scopeOsf)
	e.Loc = p.since(from)
	return e
}

// ipsec takes something of IPsec, or the bare key of meta.
func (p *keyParser) ipsec() syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.XFRM{}
	switch p.peek() {
	case tokIn:
		p.take()
	case tokOut:
		p.take()
		e.Dir = 1
	default:
		m := p.metas.New()
		m.Key, m.Bare, m.Loc = expr.MetaSecpath, true, p.last
		p.close(scopeIPsec)
		return m
	}
	if at := p.here(); p.accept(tokSpnum) {
		n := p.number()
		if n > 255 {
			p.wrong("value too large", p.since(at))
		}
		e.SPNum = uint32(n)
	}
	p.ipsecKey(e)
	p.close(scopeIPsec)
	e.Loc = p.since(from)
	return e
}

func (p *keyParser) ipsecKey(e *syntax.XFRM) {
	t := p.peek()
	switch t {
	case tokSpi:
		p.take()
		e.Key = syntax.XFRMSPI
	case tokReqid:
		p.take()
		e.Key = syntax.XFRMReqid
	case tokIp, tokIp6:
		p.take()
		p.close(opens[t])
		keys := [2]uint32{syntax.XFRMSaddr4, syntax.XFRMDaddr4}
		if t == tokIp6 {
			keys = [2]uint32{syntax.XFRMSaddr6, syntax.XFRMDaddr6}
		}
		switch p.peek() {
		case tokSaddr:
			e.Key = keys[0]
		case tokDaddr:
			e.Key = keys[1]
		default:
			p.unexpected(tokSaddr, tokDaddr)
			return
		}
		p.take()
	default:
		p.unexpected(tokIp, tokIp6, tokSpi, tokReqid)
	}
}

func (p *keyParser) numgen() syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.Numgen{}
	switch p.peek() {
	case tokInc:
	case tokRandom:
		e.Random = true
	default:
		p.unexpected(tokInc, tokRandom)
		return nil
	}
	p.take()
	p.expect(tokMod)
	e.Modulus = uint32(p.number())
	e.Offset = p.offset()
	p.close(scopeNumgen)
	e.Loc = p.since(from)
	return e
}

// offset takes "offset" and a number, if they come.
func (p *keyParser) offset() uint32 {
	if p.accept(tokOffset) {
		return uint32(p.number())
	}
	return 0
}

func (p *keyParser) metaNamed(key expr.MetaKey, name string, at syntax.Loc) expr.MetaKey {
	if name == "" || p.bad {
		return key
	}
	key, ok := syntax.MetaNamed(name)
	if !ok {
		p.wrong("syntax error, unexpected "+name+", known keys are "+knownKeys, at)
	}
	return key
}

// ipsecBare takes the bare key of meta.
func (p *keyParser) ipsecBare() syntax.Expr {
	p.take()
	m := p.metas.New()
	m.Key, m.Bare, m.Loc = expr.MetaSecpath, true, p.last
	p.close(scopeIPsec)
	return m
}

// rawPayload takes "@" a base, an offset and a length in bits.
func (p *keyParser) rawPayload() syntax.Expr {
	from := p.here()
	p.take()
	e := &syntax.Payload{Raw: true}
	t := p.peek()
	switch t {
	case tokLl:
		p.take()
		e.Base = expr.LinkHeader
	case tokNh:
		p.take()
		e.Base = expr.NetworkHeader
	case tokTh:
		p.take()
		p.close(scopeTH)
		e.Base = expr.TransportHeader
	case tokString:
		p.take()
		if p.cur.text != "ih" {
			p.wrong("unknown raw payload base", p.last)
		}
		e.Base = expr.InnerHeader
	default:
		p.unexpected(tokString, tokLl, tokNh, tokTh)
		return nil
	}
	p.expect(tokComma)
	e.Offset = int(p.number())
	p.expect(tokComma)
	e.Bits = int(p.number())
	p.close(scopeAt)
	e.Loc = p.since(from)
	return e
}
