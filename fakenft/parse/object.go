package parse

import (
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// objectKinds are the kinds of named objects by the words that they are declared with; those of ct follow "ct".
var objectKinds = map[token]struct {
	kind syntax.Kind
	of   expr.ObjectType
}{
	tokCounter: {syntax.KindCounter, expr.ObjectCounter}, tokQuota: {syntax.KindQuota, expr.ObjectQuota},
	tokLimit: {syntax.KindLimit, expr.ObjectLimit}, tokSecmark: {syntax.KindSecmark, expr.ObjectSecmark},
	tokSynproxy: {syntax.KindSynproxy, expr.ObjectSynproxy}, tokHelper: {syntax.KindCTHelper, expr.ObjectCTHelper},
	tokTimeout: {syntax.KindCTTimeout, expr.ObjectCTTimeout}, tokExpectation: {syntax.KindCTExpectation, expr.ObjectCTExpect},
}

// objectParser takes named objects.
type objectParser struct {
	*stream
	blocks  *blockParser
	amounts *amountParser
	handles *handleParser
}

// ctObject takes what follows "ct" in the name of an object's kind.
func (p *objectParser) ctObject() syntax.Kind {
	t := p.ctWord()
	if p.bad {
		return 0
	}
	return objectKinds[t].kind
}

func (p *objectParser) ctWord() token {
	t := p.peek()
	switch t {
	case tokHelper, tokTimeout, tokExpectation:
		p.take()
	default:
		p.unexpected(tokHelper, tokTimeout, tokExpectation)
	}
	return t
}

// object takes an object that a command adds or creates. Its kind has been taken.
func (p *objectParser) object(c *syntax.Command, t token) {
	closing := opens[t]
	ct := t == tokCt
	if ct {
		t = p.ctWord()
	}
	k := objectKinds[t]
	c.Kind = k.kind
	p.handles.nameSpec(&c.Handle)
	o := &syntax.ObjectDecl{Handle: c.Handle, Type: k.of}
	c.Object = o
	from := p.nowhere()
	switch {
	case p.bad:
	case ct:
		o.Loc = from
		p.blocks.braces(false, scopeBase, func() { p.objectBlock(o, t) })
	case t == tokCounter && p.peek() != tokPackets && (c.Op == syntax.OpCreate || p.peek() != tokLBrace): // it may be left out
	case c.Op == syntax.OpCreate:
		p.config(o, t)
	case p.peek() == tokLBrace:
		o.Loc = p.blocks.braces(false, scopeBase, func() { p.objectBlock(o, t) })
	default:
		p.config(o, t, tokLBrace)
	}
	if !ct {
		o.Loc = p.since(from)
	}
	p.close(closing)
}

// objectInTable takes an object in the block of a table, with the separator behind it.
func (p *objectParser) objectInTable(t token) *syntax.ObjectDecl {
	closing := opens[t]
	ct := t == tokCt
	if ct {
		t = p.ctWord()
	}
	o := &syntax.ObjectDecl{Type: objectKinds[t].of, Handle: p.blocks.name()}
	if ct {
		o.Loc = p.blocks.braces(true, scopeCT, func() { p.objectBlock(o, t) })
		return o
	}
	o.Loc = p.blocks.braces(true, scopeBase, func() { p.objectBlock(o, t) })
	p.close(closing)
	return o
}

func (p *objectParser) objectBlock(o *syntax.ObjectDecl, t token) {
	for {
		next := p.peek()
		if p.blocks.statement(next) {
			continue
		}
		switch next {
		case tokRBrace, tokBad:
			return
		case tokComment:
			p.blocks.blockComment(&o.Comment, &o.HasComment, false)
		default:
			if !p.beginsConfig(next, t) {
				p.unexpected(anything...)
				continue
			}
			before := *o
			if p.config(o, t); p.bad {
				*o = before
			}
		}
	}
}

// beginsConfig says whether a word begins the value of an object.
func (p *objectParser) beginsConfig(next, t token) bool {
	switch t {
	case tokCounter:
		return next == tokPackets
	case tokQuota:
		return next == tokNumber || next == tokOver || next == tokUntil
	case tokLimit:
		return next == tokRate
	case tokSecmark:
		return next == tokString || next == tokQuotedString || next == tokAsteriskString
	case tokSynproxy:
		return next == tokMss
	case tokHelper:
		return next == tokType || next == tokL3proto
	case tokTimeout:
		return next == tokProtocol || next == tokPolicy || next == tokL3proto
	}
	return next == tokProtocol || next == tokDport || next == tokTimeout || next == tokSize || next == tokL3proto
}

// config takes the value of an object. Others are what would have fitted beside it.
func (p *objectParser) config(o *syntax.ObjectDecl, t token, others ...token) {
	switch t {
	case tokCounter:
		c := &syntax.Counter{HasValue: true}
		from := p.here()
		p.expect(tokPackets, others...)
		c.Packets = p.number()
		p.expect(tokBytes)
		c.Bytes = p.number()
		c.Loc = p.since(from)
		o.Counter = c
	case tokQuota:
		from := p.here()
		if p.peek() == tokNumber {
			from = p.nowhere() // that of "over" and "until", which are left out
		}
		o.Quota = p.amounts.quotaRest(from)
	case tokLimit:
		from := p.here()
		p.expect(tokRate, others...)
		o.Limit = p.amounts.rate(from, "")
	case tokSecmark:
		s := p.str(others...)
		if !p.bad && (s == "" || len(s) > 255) {
			p.wrong("invalid context '"+s+"', max length is 256\n", p.last)
		}
		o.Options = append(o.Options, [2]string{"context", s})
	case tokSynproxy:
		from := p.here()
		p.expect(tokMss, others...)
		p.synproxyConfig(o, from)
	case tokHelper:
		p.helperConfig(o)
	case tokTimeout:
		p.timeoutConfig(o)
	default:
		p.expectationConfig(o)
	}
}

// synproxyConfig takes what follows "mss": either all on one line, or with separators between.
func (p *objectParser) synproxyConfig(o *syntax.ObjectDecl, from syntax.Loc) {
	s := &syntax.SynproxyStmt{MSS: uint16(p.number()), Flags: synproxyMSS | synproxyWscale}
	lines := false
	switch p.peek() {
	case tokWscale:
	case tokNewline, tokSemicolon:
		p.take()
		lines = true
	default:
		p.unexpected(tokNewline, tokSemicolon, tokWscale)
	}
	p.expect(tokWscale)
	s.Wscale = uint8(p.number())
	if lines {
		p.separator()
	}
	if p.accept(tokTimestamp) {
		s.Flags |= synproxyTimestamp
	}
	if p.accept(tokSackPermitted) {
		s.Flags |= synproxySackPerm
	}
	s.Loc = p.since(from)
	o.Synproxy = s
}

// protocol takes "tcp" or "udp".
func (p *objectParser) protocol(o *syntax.ObjectDecl) {
	switch p.peek() {
	case tokTcp:
		p.take()
		p.close(scopeTCP)
		o.Options = append(o.Options, [2]string{"protocol", "tcp"})
	case tokUdp:
		p.take()
		p.close(scopeUDP)
		o.Options = append(o.Options, [2]string{"protocol", "udp"})
	default:
		p.unexpected(tokTcp, tokUdp)
	}
}

// l3proto takes a family and a separator.
func (p *objectParser) l3proto(o *syntax.ObjectDecl) {
	p.take()
	f, ok := p.handles.explicitFamily()
	if !ok {
		p.unexpected(anything...)
	}
	p.separator()
	o.Options = append(o.Options, [2]string{"l3proto", f.String()})
}

func (p *objectParser) helperConfig(o *syntax.ObjectDecl) {
	if p.peek() == tokL3proto {
		p.l3proto(o)
		return
	}
	p.take()
	p.expect(tokQuotedString)
	name, at := p.cur.text, p.last
	p.expect(tokProtocol)
	o.Options = append(o.Options, [2]string{"type", name})
	p.protocol(o)
	p.separator()
	p.close(scopeType)
	if !p.bad && (name == "" || len(name) > 15) {
		p.wrong("invalid name '"+name+"', max length is 16\n", at)
	}
}

func (p *objectParser) timeoutConfig(o *syntax.ObjectDecl) {
	switch p.peek() {
	case tokL3proto:
		p.l3proto(o)
	case tokProtocol:
		p.take()
		p.protocol(o)
		p.separator()
	default:
		p.take()
		p.expect(tokEquals)
		p.expect(tokLBrace)
		for {
			name := p.identifier()
			o.States = append(o.States, p.last)
			p.expect(tokColon)
			o.Options = append(o.Options, [2]string{name, strconv.FormatUint(p.number(), 10)})
			if !p.accept(tokComma) {
				break
			}
		}
		p.expect(tokRBrace, tokComma)
		p.separator()
		p.close(scopePolicy)
	}
}

func (p *objectParser) expectationConfig(o *syntax.ObjectDecl) {
	t := p.peek()
	switch t {
	case tokL3proto:
		p.l3proto(o)
		return
	case tokProtocol:
		p.take()
		p.protocol(o)
	case tokTimeout:
		p.take()
		o.Options = append(o.Options, [2]string{"timeout", strconv.FormatUint(p.amounts.time(), 10)})
	default: // dport, size
		p.take()
		o.Options = append(o.Options, [2]string{tokenNames[t], strconv.FormatUint(p.number(), 10)})
	}
	p.separator()
}
