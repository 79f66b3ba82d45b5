package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// verdictCode is the verdict of a word, if it is one.
func verdictCode(t token) (code expr.Code, ok bool) {
	switch t {
	case tokAccept:
		return expr.Accept, true
	case tokDrop:
		return expr.Drop, true
	case tokContinue:
		return expr.Continue, true
	case tokJump:
		return expr.Jump, true
	case tokGoto:
		return expr.Goto, true
	case tokReturn:
		return expr.Return, true
	}
	return 0, false
}

// stmtParser takes rules and their statements.
type stmtParser struct {
	*stream
	*nodes
	vars     *definitions
	amounts  *amountParser
	keys     *keyParser
	exprs    *exprParser
	elements *elementParser
	steer    *steerParser
}

// rule takes a rule.
func (p *stmtParser) rule() *syntax.Rule {
	r := p.ruleOrNothing()
	if r == nil {
		p.unexpected(anything...)
	}
	return r
}

// ruleOrNothing takes a rule; it is nil if none begins here.
func (p *stmtParser) ruleOrNothing() *syntax.Rule {
	if p.bad {
		return nil
	}
	from := p.here()
	begin := p.stmtLists.Begin()
	for {
		s := p.stmt(p.peek())
		if s == nil || p.bad {
			break
		}
		p.stmtLists.Add(s)
	}
	stmts := p.stmtLists.End(begin)
	if p.bad {
		return &syntax.Rule{}
	}
	if len(stmts) == 0 {
		return nil
	}
	r := p.rules.New()
	r.Loc, r.Stmts = p.since(from), stmts
	if p.peek() == tokComment {
		r.Comment, _ = p.comment()
		r.HasComment = true
	}
	return r
}

// stmt takes a statement; it is nil if none begins here.
func (p *stmtParser) stmt(t token) syntax.Stmt {
	switch t {
	case tokAccept, tokDrop, tokContinue, tokReturn:
		v := p.ends.New()
		v.Expr = p.elements.verdict(t, true)
		v.Loc = p.last
		return v
	case tokJump, tokGoto:
		return p.jump(t)
	case tokCounter:
		return p.counter()
	case tokLimit:
		return p.limit()
	case tokQuota:
		return p.quota()
	case tokLog:
		return p.log()
	case tokReject:
		return p.reject()
	case tokSnat, tokDnat:
		return p.steer.nat(t)
	case tokMasquerade:
		return p.steer.masquerade()
	case tokRedirect:
		return p.steer.redirect()
	case tokTproxy:
		return p.steer.tproxy()
	case tokQueue:
		return p.steer.queue()
	case tokDup:
		return p.steer.dup()
	case tokFwd:
		return p.steer.fwd()
	case tokSynproxy:
		return p.synproxy()
	case tokAdd, tokUpdate, tokDelete, tokSet:
		return p.setUpdate(t)
	case tokMeter:
		return p.meter()
	case tokFlow:
		return p.flow()
	case tokNotrack:
		p.take()
		return &syntax.Notrack{At: syntax.At{Loc: p.last}}
	case tokReset:
		return p.strip()
	case tokXt:
		return p.xt()
	}
	return p.exprStmt(t)
}

// exprStmt takes a statement that begins with an expression: a relation, a vmap, or one that sets a field.
func (p *stmtParser) exprStmt(t token) syntax.Stmt {
	from := p.here()
	var e syntax.Expr
	switch t {
	case tokLBrace:
		return p.match(p.exprs.relation(p.elements.setExpr(), from), from)
	case tokMeta:
		p.take()
		switch m := p.exprs.meta(from, true).(type) {
		case syntax.Stmt:
			return m
		case *syntax.Meta:
			e = m
		}
	case tokCt:
		p.take()
		x, s := p.exprs.ct(from, true)
		if s != nil {
			return s
		}
		e = x
	case tokIpsec:
		e = p.keys.ipsec()
	default:
		if !beginsExpr(t) {
			return nil
		}
		e = p.exprs.primary()
	}
	if p.bad {
		return nil
	}
	if p.peek() == tokSet && t != tokLParen {
		if s := p.setField(e, from); s != nil || p.bad {
			return s
		}
	}
	e = p.exprs.concatenation(e, from)
	if p.accept(tokVmap) {
		m := p.maps.New()
		m.Key, m.Mappings = e, p.elements.verdictMap()
		m.Loc = p.since(from)
		v := p.ends.New()
		v.Loc, v.Expr = m.Loc, m
		return v
	}
	return p.match(p.exprs.relation(p.exprs.mapped(e, from), from), from)
}

func (p *stmtParser) match(e syntax.Expr, from syntax.Loc) syntax.Stmt {
	m := p.matches.New()
	m.Loc, m.Expr = p.since(from), e
	return m
}

// beginsExpr says whether a token begins an expression of a relation.
func beginsExpr(t token) bool {
	switch t {
	case tokDollar, tokString, tokQuotedString, tokAsteriskString, tokNumber, tokLParen, tokFib, tokHbh, tokRt0, tokRt2, tokSrh, tokFrag,
		tokDst, tokMh, tokExthdr, tokAt, tokRt, tokSocket, tokOsf, tokNumgen, tokJhash, tokSymhash:
		return true
	}
	if _, ok := bareKey(t); ok {
		return true
	}
	return headers[t] != nil
}

// setField takes "set" and a value, if what came before can be set. It is nil if not.
func (p *stmtParser) setField(e syntax.Expr, from syntax.Loc) syntax.Stmt {
	switch x := e.(type) {
	case *syntax.Payload:
		p.take()
		s := &syntax.SetPayload{Field: e, Value: p.exprs.stmtExpr()}
		s.Loc = p.since(from)
		return s
	case *syntax.Exthdr:
		if x.Op == expr.ExthdrIPv6 {
			return nil
		}
		p.take()
		s := &syntax.SetExthdr{Field: e, Value: p.exprs.stmtExpr()}
		s.Loc = p.since(from)
		return s
	case *syntax.Meta:
		if !x.Bare {
			return nil
		}
		p.take()
		s := &syntax.SetMeta{Key: x.Key, Value: p.exprs.stmtExpr()}
		s.Loc = p.since(from)
		return s
	}
	return nil
}

// jump takes a jump or goto to a chain, or to one in braces.
func (p *stmtParser) jump(t token) syntax.Stmt {
	from := p.here()
	e := p.elements.verdict(t, true)
	if p.bad {
		return nil
	}
	v, _ := e.(*syntax.Verdict)
	if v.Chain != nil {
		s := p.ends.New()
		s.Loc, s.Expr = p.since(from), v
		return s
	}
	// The chain has been looked for, and does not come.
	p.deepen()
	begin := p.here()
	c := &syntax.ChainDecl{Anonymous: true}
	if !p.expect(tokLBrace) {
		p.vars.leaveBlock()
		return nil
	}
	p.inside(6, func() syntax.Expr {
		p.subchain(c)
		return nil
	})
	p.expect(tokRBrace)
	c.Loc = p.since(begin)
	p.vars.leaveBlock()
	s := &syntax.ChainStmt{Code: v.Code, Chain: c}
	s.Loc = p.since(from)
	return s
}

// deepen opens the block of a chain in braces. If nft has no room for its variables, that is a mistake, but it goes on.
func (p *stmtParser) deepen() {
	if p.vars.open() {
		return
	}
	p.mistakes = append(p.mistakes, syntax.Wrong("too many levels of nesting", p.nowhere()))
	p.found++
	if p.found > mostMistakes*mostMistakes {
		p.stop() // nft fails an assertion much earlier
	}
}

// strip takes "reset tcp option NAME".
func (p *stmtParser) strip() syntax.Stmt {
	from := p.here()
	p.take()
	p.expect(tokTcp)
	p.expect(tokOption)
	at := p.here()
	e := &syntax.Exthdr{Op: expr.ExthdrTCPOption}
	if _, ok := p.keys.tcpOptionType(e); !ok {
		return nil
	}
	e.Loc = p.since(at)
	if e.Header != nil {
		e.Field = e.Header.Field("kind")
	}
	p.close(scopeTCP)
	s := &syntax.OptStrip{Option: e}
	s.Loc = p.since(from)
	return s
}

// xt takes what nft prints of a match or target of x_tables that it cannot translate, and which it does not read.
func (p *stmtParser) xt() syntax.Stmt {
	from := p.here()
	p.take()
	p.identifier()
	p.identifier()
	p.wrong("unsupported xtables compat expression, use iptables-nft with this ruleset", p.since(from))
	return nil
}

// subchain takes the rules of a chain without a name: no mistake ends in it, nor may anything else stand there.
func (p *stmtParser) subchain(c *syntax.ChainDecl) {
	for {
		switch p.peek() {
		case tokNewline, tokSemicolon:
			p.take()
		case tokRBrace, tokBad:
			return
		default:
			r := p.ruleOrNothing()
			if r == nil {
				p.unexpected(anything...)
				return
			}
			p.separator()
			p.keep(func() { c.Rules = append(c.Rules, r) })
		}
	}
}
