package parse

import (
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// exprParser takes expressions. The language has three kinds, which differ in what they may be made of: the left side of a relation (and
// what "typeof" and "describe" take), the right side (and elements of sets), and what statements set things to. They share the operators.
type exprParser struct {
	*stream
	*nodes
	vars     *definitions
	amounts  *amountParser
	keys     *keyParser
	elements *elementParser
}

// operator is a binary operator. Those of a higher rank bind tighter.
type operator struct {
	op   syntax.BinaryOp
	rank int
}

func binaryOf(t token) (operator, bool) {
	switch t {
	case tokLshift:
		return operator{syntax.OpLeft, 4}, true
	case tokRshift:
		return operator{syntax.OpRight, 4}, true
	case tokAmp:
		return operator{syntax.OpAnd, 3}, true
	case tokCaret:
		return operator{syntax.OpXor, 2}, true
	case tokPipe:
		return operator{syntax.OpOr, 1}, true
	}
	return operator{}, false
}

// binary takes the operators of at least a rank that follow an expression, and their right sides.
func (p *exprParser) binary(left syntax.Expr, from syntax.Loc, rank int, operand func(*exprParser) syntax.Expr) syntax.Expr {
	for {
		o, ok := binaryOf(p.peek())
		if !ok || o.rank < rank {
			return left
		}
		p.take()
		at := p.here()
		right := p.binary(operand(p), at, o.rank+1, operand)
		b := &syntax.Binop{Op: o.op, Left: left, Right: right}
		b.Loc = p.since(from)
		left = b
	}
}

// basic takes the left side of a relation up to a dot.
func (p *exprParser) basic() syntax.Expr {
	from := p.here()
	return p.binary(p.primary(), from, 1, (*exprParser).primaryRight)
}

// concatenation takes what follows the first part of a left side: operators and more parts.
func (p *exprParser) concatenation(first syntax.Expr, from syntax.Loc) syntax.Expr {
	first = p.binary(first, from, 1, (*exprParser).primaryRight)
	if p.peek() != tokDot {
		return first
	}
	parts := p.beginParts(first)
	for p.accept(tokDot) {
		dot := p.last
		p.addPart(parts, dot, p.basic())
	}
	return p.endParts(parts, from)
}

// beginParts begins a concatenation with its first part.
func (p *exprParser) beginParts(first syntax.Expr) (begin int) {
	begin = p.exprLists.Begin()
	p.exprLists.Add(first)
	return begin
}

// addPart adds a part that has just been read. From the third one on, nft counts the dot before a part to its place.
func (p *exprParser) addPart(begin int, dot syntax.Loc, part syntax.Expr) {
	if p.exprLists.Begin()-begin >= 2 && part != nil {
		part.Info().Loc = p.since(dot)
	}
	p.exprLists.Add(part)
}

// endParts is the concatenation.
func (p *exprParser) endParts(begin int, from syntax.Loc) syntax.Expr {
	c := p.concats.New()
	c.Loc, c.Parts = p.since(from), p.exprLists.End(begin)
	return c
}

// key takes a whole concatenation.
func (p *exprParser) key() syntax.Expr {
	from := p.here()
	return p.concatenation(p.primary(), from)
}

// wholeExpr takes a concatenation, a set, or a map: what may stand on the left of a relation.
func (p *exprParser) wholeExpr() syntax.Expr {
	from := p.here()
	if p.peek() == tokLBrace {
		return p.elements.setExpr()
	}
	return p.mapped(p.key(), from)
}

// mapped takes "map" and the mappings, if they follow.
func (p *exprParser) mapped(key syntax.Expr, from syntax.Loc) syntax.Expr {
	if !p.accept(tokMap) {
		return key
	}
	m := p.maps.New()
	m.Key, m.Mappings = key, p.right()
	m.Loc = p.since(from)
	return m
}

// symbolExpr takes a variable or a text. The next token must be the beginning of one.
func (p *exprParser) symbolExpr(t token) syntax.Expr {
	if t == tokDollar {
		return p.vars.variable()
	}
	p.take()
	s := p.symbol(p.last, p.cur.text)
	s.Quoted = t == tokQuotedString
	return s
}

// integer takes a number. It is a symbol like others, which gets its meaning from the type that is expected.
func (p *exprParser) integer() syntax.Expr {
	p.take()
	text := p.cur.text
	if text[0] == '0' && len(text) > 1 {
		text = strconv.FormatUint(p.cur.number, 10)
	}
	return p.symbol(p.last, text)
}

// primary takes what the left side of a relation begins with.
func (p *exprParser) primary() syntax.Expr {
	switch t := p.peek(); t {
	case tokDollar, tokString, tokQuotedString, tokAsteriskString:
		return p.symbolExpr(t)
	case tokNumber:
		return p.integer()
	case tokLParen:
		p.take()
		e := p.inside(1, p.basic)
		p.expect(tokRParen)
		return e
	case tokFib:
		return p.keys.fib()
	case tokHbh, tokRt0, tokRt2, tokSrh, tokFrag, tokDst, tokMh:
		return p.keys.extension(t)
	case tokExthdr:
		return p.keys.exthdrExists()
	case tokRt:
		return p.keys.routing()
	case tokIpsec:
		return p.keys.ipsec()
	case tokAt:
		return p.keys.rawPayload()
	default:
		if e := p.packet(t); e != nil || p.bad {
			return e
		}
		if e := p.keys.payload(t, false); e != nil || p.bad {
			return e
		}
	}
	p.unexpected(anything...)
	return nil
}

// packet takes meta, ct, rt, socket, osf, numgen or a hash: what both a relation and a statement can begin with. It is nil if none comes.
func (p *exprParser) packet(t token) syntax.Expr {
	switch t {
	case tokMeta:
		from := p.here()
		p.take()
		m, _ := p.meta(from, false).(*syntax.Meta)
		if m == nil {
			return nil
		}
		return m
	case tokRt:
		from := p.here()
		p.take()
		return p.keys.route(from)
	case tokCt:
		from := p.here()
		p.take()
		e, _ := p.ct(from, false)
		return e
	case tokSocket:
		return p.keys.socket()
	case tokOsf:
		return p.keys.osf()
	case tokNumgen:
		return p.keys.numgen()
	case tokJhash, tokSymhash:
		return p.hash(t)
	}
	if key, ok := bareKey(t); ok {
		p.take()
		m := p.metas.New()
		m.Loc, m.Key, m.Bare = p.last, key, true
		return m
	}
	return nil
}

// keyword takes a word that is a keyword elsewhere and a value here, and closes its scope. It says whether one came.
func (p *exprParser) keyword(t token) (*syntax.Symbol, bool) {
	switch t {
	case tokEther, tokIp, tokIp6, tokVlan, tokArp, tokDnat, tokSnat, tokReset:
		p.take()
		s := p.symbol(p.last, p.cur.text)
		p.close(opens[t])
		return s, true
	case tokEcn, tokOriginal, tokReply, tokLabel:
		p.take()
		return p.symbol(p.last, p.cur.text), true
	}
	return nil, false
}

// boolean makes "exists" or "missing".
func (p *exprParser) boolean(t token) syntax.Expr {
	p.take()
	v := &syntax.Value{}
	if t == tokExists {
		v.Num.Lo = 1
	}
	v.Loc, v.Type, v.Order, v.Bits = p.last, syntax.TypeBoolean, syntax.NoOrder, 1
	return v
}
