package parse

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// elementParser takes sets in braces, with their elements and verdicts.
type elementParser struct {
	*stream
	*nodes
	vars    *definitions
	amounts *amountParser
	exprs   *exprParser
}

// elements takes what an element command or "elements =" has: a set, or a variable.
func (p *elementParser) elements() syntax.Expr {
	if p.peek() == tokDollar {
		return p.vars.variable()
	}
	from := p.here()
	if !p.expect(tokLBrace, tokDollar) {
		return nil
	}
	return p.setRest(from)
}

// setExpr takes a set in braces.
func (p *elementParser) setExpr() syntax.Expr {
	from := p.here()
	p.expect(tokLBrace)
	return p.setRest(from)
}

// setRest takes a set whose "{" has been taken. A newline may stand on both sides of a member, one on each.
func (p *elementParser) setRest(from syntax.Loc) syntax.Expr {
	return p.inside(2, func() syntax.Expr { return p.members(from) })
}

func (p *elementParser) members(from syntax.Loc) syntax.Expr {
	s := p.sets.New()
	items := p.exprLists.Begin()
	p.accept(tokNewline)
	for {
		p.exprLists.Add(p.member())
		p.accept(tokNewline)
		if !p.moreMembers() {
			break
		}
	}
	s.Loc, s.Items = p.since(from), p.exprLists.End(items)
	return s
}

// moreMembers takes commas or the closing brace. It says whether a member comes: a comma may be the last, and several may follow each
// other.
func (p *elementParser) moreMembers() bool {
	for {
		switch p.peek() {
		case tokComma:
			p.take()
			p.accept(tokNewline)
			if p.beginsMember() {
				return true
			}
		case tokRBrace:
			p.take()
			return false
		default:
			p.unexpected(tokComma, tokRBrace)
			return false
		}
	}
}

// beginsMember says whether the next token begins a member of a set.
func (p *elementParser) beginsMember() bool {
	switch t := p.peek(); t {
	case tokDollar, tokString, tokQuotedString, tokAsteriskString, tokNumber, tokExists, tokMissing, tokLParen, tokRedirect, tokEther, tokIp,
		tokIp6, tokVlan, tokArp, tokDnat, tokSnat, tokReset, tokEcn, tokOriginal, tokReply, tokLabel, tokAsterisk, tokLBrace:
		return true
	default:
		return protocols[t] != 0
	}
}

// member takes a member of a set: a set, an element, or an element with its data.
func (p *elementParser) member() syntax.Expr {
	if p.peek() == tokLBrace {
		return p.setExpr()
	}
	from := p.here()
	e := p.plainMember()
	place := p.since(from) // with the options of the key
	if !p.accept(tokColon) {
		return e
	}
	m := p.mappings.New()
	m.Loc, m.Key = place, e
	if v := p.verdict(p.peek(), false); v != nil {
		m.Data = v
	} else {
		from := p.here()
		m.Data = p.exprs.concatRight(p.exprs.basicRight(), from)
	}
	return m
}

// plainMember takes an element: its key, its statements, and its options.
func (p *elementParser) plainMember() *syntax.Element {
	e := p.elems.New()
	from := p.here()
	if p.accept(tokAsterisk) {
		c := &syntax.Catchall{}
		c.Loc = p.last
		e.Key = c
	} else {
		e.Key = p.exprs.concatRight(p.exprs.basicRight(), from)
	}
	e.Loc = p.since(from)
	for !p.bad {
		s := p.elementStatement()
		if s == nil {
			break
		}
		e.Stmts = append(e.Stmts, s)
	}
	p.elementOptions(e)
	return e
}

// elementStatement takes a counter, a limit or a "ct count" of an element. It is nil if none comes.
func (p *elementParser) elementStatement() syntax.Stmt {
	from := p.here()
	switch p.peek() {
	case tokCounter:
		p.take()
		c := &syntax.Counter{}
		c.Loc = p.last
		if p.accept(tokPackets) {
			c.Packets = p.number()
			p.expect(tokBytes)
			c.Bytes = p.number()
			c.HasValue = true
			c.Loc = p.since(from)
		}
		p.close(scopeCounter)
		return c
	case tokLimit:
		p.take()
		p.expect(tokRate)
		l := p.amounts.rate(from, "limit burst must be > 0")
		if l.Bytes && l.Burst == 0 {
			p.wrong("limit burst must be > 0", p.nowhere())
		}
		p.close(scopeLimit)
		return l
	case tokCt:
		p.take()
		p.expect(tokCount)
		return p.amounts.connCount(from)
	}
	return nil
}

// elementOptions takes timeout, expires and comment.
func (p *elementParser) elementOptions(e *syntax.Element) {
	for {
		switch p.peek() {
		case tokTimeout:
			p.take()
			e.Timeout, e.HasTimeout = p.amounts.time(), true
		case tokExpires:
			p.take()
			e.Expires, e.HasExpires = p.amounts.time(), true
		case tokComment:
			text, at := p.comment()
			if e.HasComment {
				p.again(at)
			}
			e.Comment, e.HasComment = text, true
		default:
			return
		}
	}
}

// verdictMap takes the mappings behind "vmap".
func (p *elementParser) verdictMap() syntax.Expr {
	if p.peek() != tokLBrace {
		return p.exprs.setName(tokLBrace)
	}
	from := p.here()
	p.take()
	s := p.sets.New()
	items := p.exprLists.Begin()
	p.accept(tokNewline)
	for {
		from := p.here()
		e := p.plainMember()
		m := p.mappings.New()
		m.Loc, m.Key = p.since(from), e
		p.expect(tokColon)
		v := p.verdict(p.peek(), false)
		if v == nil {
			p.unexpected(anything...)
		}
		m.Data = v
		p.exprLists.Add(m)
		p.accept(tokNewline)
		if !p.moreVerdicts() {
			break
		}
	}
	s.Loc, s.Items = p.since(from), p.exprLists.End(items)
	return s
}

func (p *elementParser) moreVerdicts() bool {
	for {
		switch p.peek() {
		case tokComma:
			p.take()
			p.accept(tokNewline)
			if p.beginsMember() && p.peek() != tokLBrace {
				return true
			}
		case tokRBrace:
			p.take()
			return false
		default:
			p.unexpected(tokComma, tokRBrace)
			return false
		}
	}
}

// verdict takes a verdict; it is nil if none comes. Statement says that "{" may follow jump and goto, which leaves the rest to the caller.
func (p *elementParser) verdict(t token, statement bool) syntax.Expr {
	code, ok := verdictCode(t)
	if !ok {
		return nil
	}
	p.take()
	v := p.verdicts.New()
	v.Code = code
	from := p.last
	if t == tokJump || t == tokGoto {
		switch p.peek() {
		case tokDollar:
			v.Chain = p.vars.variable()
		case tokString:
			p.take()
			v.Chain = p.symbol(p.last, p.cur.text)
		default:
			if statement {
				v.Loc = from
				return v
			}
			p.unexpected(tokString, tokDollar)
		}
	}
	v.Loc = p.since(from)
	return v
}

// elementKey takes the key, or the data, of an element that a packet makes, with its options.
func (p *elementParser) elementKey() syntax.Expr {
	e := p.elems.New()
	from := p.here()
	e.Key = p.exprs.key()
	e.Loc = p.since(from)
	p.elementOptions(e)
	return e
}
