package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// stmtExpr takes what a statement sets something to: an expression with operators and dots, a map of it, a prefix, a range, or a list of
// words.
func (p *exprParser) stmtExpr() syntax.Expr {
	from := p.here()
	first, word := p.primaryStmt()
	if word && p.peek() == tokComma {
		return p.stmtList(first, from)
	}
	return p.stmtExprFrom(first, from)
}

// stmtExprFrom takes what follows the first thing.
func (p *exprParser) stmtExprFrom(first syntax.Expr, from syntax.Loc) syntax.Expr {
	e := p.binary(first, from, 1, (*exprParser).operandStmt)
	switch p.peek() {
	case tokSlash:
		p.take()
		return p.prefix(e, from, p.number())
	case tokDash:
		p.take()
		return p.rangeTo(e, from, p.basicStmt())
	case tokDot:
		parts := p.beginParts(e)
		for p.accept(tokDot) {
			dot := p.last
			p.addPart(parts, dot, p.operandStmt())
		}
		e = p.endParts(parts, from)
	}
	if !p.accept(tokMap) {
		return e
	}
	m := p.maps.New()
	m.Key = e
	switch p.peek() {
	case tokLBrace:
		m.Mappings = p.elements.setExpr()
	default:
		m.Mappings = p.setName(tokLBrace)
	}
	m.Loc = p.since(from)
	return m
}

// stmtList takes the rest of a list of words.
func (p *exprParser) stmtList(first syntax.Expr, from syntax.Loc) syntax.Expr {
	l := &syntax.List{Items: append(make([]syntax.Expr, 0, 4), first)}
	for p.accept(tokComma) {
		switch t := p.peek(); t {
		case tokDollar, tokString, tokQuotedString, tokAsteriskString:
			l.Items = append(l.Items, p.symbolExpr(t))
		default:
			s, ok := p.keyword(t)
			if !ok {
				p.unexpected(anything...)
				return nil
			}
			l.Items = append(l.Items, s)
		}
	}
	l.Loc = p.since(from)
	return l
}

func (p *exprParser) operandStmt() syntax.Expr {
	e, _ := p.primaryStmt()
	return e
}

// basicStmt takes an expression without dots.
func (p *exprParser) basicStmt() syntax.Expr {
	from := p.here()
	return p.binary(p.operandStmt(), from, 1, (*exprParser).operandStmt)
}

// primaryStmt takes the first thing of an expression of a statement. It says whether that is a word, which may be in a list.
func (p *exprParser) primaryStmt() (syntax.Expr, bool) {
	t := p.peek()
	switch t {
	case tokDollar, tokString, tokQuotedString, tokAsteriskString:
		return p.symbolExpr(t), true
	case tokNumber:
		return p.integer(), false
	case tokExists, tokMissing:
		return p.boolean(t), false
	case tokLParen:
		p.take()
		e := p.inside(1, p.basicStmt)
		p.expect(tokRParen)
		return e, false
	case tokIpsec:
		return p.keys.ipsecBare(), false
	case tokAt:
		return p.keys.rawPayload(), false
	}
	if e := p.packet(t); e != nil || p.bad {
		return e, false
	}
	if e := p.keys.payload(t, true); e != nil || p.bad {
		_, word := e.(*syntax.Symbol)
		return e, word
	}
	if s, ok := p.keyword(t); ok {
		return s, true
	}
	p.unexpected(anything...)
	return nil, false
}
