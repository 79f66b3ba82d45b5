package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// protocols are the words that are numbers of protocols on a right side; igmp leaves its scope open in nft 1.0.6.
var protocols = [tokens]uint64{
	tokTcp: 6, tokUdp: 17, tokUdplite: 136, tokEsp: 50, tokAh: 51, tokIcmp: 1, tokIgmp: 2, tokIcmpv6: 58, tokComp: 108, tokDccp: 33,
	tokSctp: 132,
}

// primaryRight takes what a right side begins with.
func (p *exprParser) primaryRight() syntax.Expr {
	t := p.peek()
	switch t {
	case tokDollar, tokString, tokQuotedString, tokAsteriskString:
		return p.symbolExpr(t)
	case tokNumber:
		return p.integer()
	case tokExists, tokMissing:
		return p.boolean(t)
	case tokLParen:
		p.take()
		e := p.inside(1, p.basicRight)
		p.expect(tokRParen)
		return e
	case tokRedirect:
		p.take()
		p.close(scopeNAT)
		v := &syntax.Value{Num: syntax.Num{Lo: 5}}
		v.Loc, v.Type, v.Order, v.Bits = p.last, syntax.TypeICMPType, syntax.BigEndian, 8
		return v
	}
	if s, ok := p.keyword(t); ok {
		return s
	}
	if number := protocols[t]; number != 0 {
		p.take()
		if t != tokIgmp {
			p.close(opens[t])
		}
		v := p.values.New()
		v.Num.Lo, v.Loc, v.Type, v.Order, v.Bits = number, p.last, syntax.TypeInetProto, syntax.HostOrder, 8
		return v
	}
	p.unexpected(anything...)
	return nil
}

// basicRight takes a right side without range, prefix and dots.
func (p *exprParser) basicRight() syntax.Expr {
	from := p.here()
	return p.binary(p.primaryRight(), from, 1, (*exprParser).primaryRight)
}

// right takes a concatenation, a set, or the name of one.
func (p *exprParser) right() syntax.Expr {
	switch p.peek() {
	case tokLBrace:
		return p.elements.setExpr()
	case tokAt:
		return p.setReference()
	}
	from := p.here()
	return p.concatRight(p.basicRight(), from)
}

// concatRight takes what follows the first part of a right side: a prefix, a range, and more parts.
func (p *exprParser) concatRight(first syntax.Expr, from syntax.Loc) syntax.Expr {
	switch p.peek() {
	case tokSlash:
		p.take()
		n := p.number()
		first = p.prefix(first, from, n)
	case tokDash:
		p.take()
		first = p.rangeTo(first, from, p.basicRight())
	}
	return p.moreParts(first, from)
}

// moreParts takes dots and the parts behind them.
func (p *exprParser) moreParts(first syntax.Expr, from syntax.Loc) syntax.Expr {
	if p.peek() != tokDot {
		return first
	}
	parts := p.beginParts(first)
	for p.accept(tokDot) {
		dot, at := p.last, p.here()
		part := p.basicRight()
		switch p.peek() {
		case tokSlash:
			p.take()
			part = p.prefix(part, at, p.number())
		case tokDash:
			p.take()
			part = p.rangeTo(part, at, p.basicRight())
		}
		p.addPart(parts, dot, part)
	}
	return p.endParts(parts, from)
}

func (p *exprParser) prefix(of syntax.Expr, from syntax.Loc, n uint64) syntax.Expr {
	e := &syntax.Prefix{Of: of, Len: int(uint32(n))}
	e.Loc = p.since(from)
	return e
}

func (p *exprParser) rangeTo(low syntax.Expr, from syntax.Loc, high syntax.Expr) syntax.Expr {
	e := &syntax.Range{Min: low, Max: high}
	e.Loc = p.since(from)
	return e
}

// list takes the rest of A,B,C, whose first comma comes now.
func (p *exprParser) list(first syntax.Expr, from syntax.Loc) syntax.Expr {
	l := &syntax.List{Items: append(make([]syntax.Expr, 0, 4), first)}
	p.expect(tokComma)
	l.Items = append(l.Items, p.basicRight())
	for p.accept(tokComma) {
		l.Items = append(l.Items, p.basicRight())
	}
	l.Loc = p.since(from)
	return l
}

// listOrConcatenation takes the value of a definition.
func (p *exprParser) listOrConcatenation() syntax.Expr {
	from := p.here()
	first := p.basicRight()
	if p.peek() == tokComma {
		return p.list(first, from)
	}
	return p.concatRight(first, from)
}

// relOps are the operators of relations.
func relOp(t token) (syntax.RelOp, bool) {
	switch t {
	case tokEq:
		return syntax.OpEq, true
	case tokNeq:
		return syntax.OpNeq, true
	case tokLt:
		return syntax.OpLt, true
	case tokGt:
		return syntax.OpGt, true
	case tokLte:
		return syntax.OpLte, true
	case tokGte:
		return syntax.OpGte, true
	case tokNot:
		return syntax.OpNeg, true
	}
	return syntax.OpImplicit, false
}

// relation takes the operator and the right side of a relation.
func (p *exprParser) relation(left syntax.Expr, from syntax.Loc) syntax.Expr {
	op, ok := relOp(p.peek())
	var sign syntax.Loc
	if ok {
		p.take()
		sign = p.last
	}
	var right syntax.Expr
	switch p.peek() {
	case tokLBrace:
		right = p.elements.setExpr()
	case tokAt:
		right = p.setReference()
	default:
		at := p.here()
		value := p.basicRight()
		if p.peek() == tokComma {
			value = p.list(value, at)
			if p.accept(tokSlash) {
				return p.flagCompare(left, from, op, value, nil)
			}
			right = value
			break
		}
		if !p.accept(tokSlash) {
			right = p.concatRight(value, at)
			break
		}
		if p.peek() != tokNumber {
			return p.flagCompare(left, from, op, value, nil)
		}
		number := p.integer()
		n := p.cur.number
		if _, more := binaryOf(p.peek()); more || p.peek() == tokComma {
			return p.flagCompare(left, from, op, value, number)
		}
		right = p.moreParts(p.prefix(value, at, n), at)
	}
	r := p.relations.New()
	r.Loc, r.Op, r.Left, r.Right = p.since(from), op, left, right
	if ok {
		r.Loc = sign
	}
	return r
}

// flagCompare takes the mask of VALUE / MASK, a list whose first item may have been taken.
func (p *exprParser) flagCompare(left syntax.Expr, from syntax.Loc, op syntax.RelOp, value, first syntax.Expr) syntax.Expr {
	at := p.here()
	if first == nil {
		first = p.basicRight()
	} else {
		at = first.Info().Loc
		first = p.binary(first, at, 1, (*exprParser).primaryRight)
	}
	e := &syntax.FlagCmp{Of: left, Value: value, Mask: p.list(first, at), Invert: op == syntax.OpNeq}
	e.Loc = p.since(from)
	return e
}

// setReference takes "@" and a name.
func (p *exprParser) setReference() syntax.Expr {
	from := p.here()
	p.take()
	r := &syntax.SetRef{Name: p.identifier()}
	p.close(scopeAt)
	r.Loc = p.since(from)
	return r
}

// setName takes "@" and a name, or a variable. Others are what would have fitted too.
func (p *exprParser) setName(others ...token) syntax.Expr {
	switch p.peek() {
	case tokAt:
		return p.setReference()
	case tokDollar:
		return p.vars.variable()
	}
	p.unexpected(append(others, tokAt, tokDollar)...)
	return nil
}
