package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

const bareIpsec = expr.MetaSecpath

var verdictCodes = map[token]expr.Code{
	tokAccept: expr.Accept, tokDrop: expr.Drop, tokContinue: expr.Continue, tokJump: expr.Jump, tokGoto: expr.Goto, tokReturn: expr.Return,
}

// rule takes a rule.
func (p *parser) rule() *syntax.Rule {
	r := p.ruleOrNothing()
	if r == nil {
		p.unexpected(anything...)
	}
	return r
}

// ruleOrNothing takes a rule; it is nil if none begins here.
func (p *parser) ruleOrNothing() *syntax.Rule {
	if p.bad {
		return nil
	}
	from := p.here()
	var r *syntax.Rule
	for {
		s := p.stmt(p.peek())
		if s == nil || p.bad {
			break
		}
		if r == nil {
			r = p.rules.new()
			r.Stmts = make([]syntax.Stmt, 0, 4)
		}
		r.Stmts = append(r.Stmts, s)
	}
	if p.bad {
		return &syntax.Rule{}
	}
	if r == nil {
		return nil
	}
	r.Loc = p.since(from)
	if p.peek() == tokComment {
		r.Comment, _ = p.comment()
		r.HasComment = true
	}
	return r
}

// stmt takes a statement; it is nil if none begins here.
func (p *parser) stmt(t token) syntax.Stmt {
	switch t {
	case tokAccept, tokDrop, tokContinue, tokReturn:
		v := p.ends.new()
		v.Expr = p.verdict(t, true)
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
		return p.nat(t)
	case tokMasquerade:
		return p.masquerade()
	case tokRedirect:
		return p.redirect()
	case tokTproxy:
		return p.tproxy()
	case tokQueue:
		return p.queue()
	case tokDup:
		return p.dup()
	case tokFwd:
		return p.fwd()
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
func (p *parser) exprStmt(t token) syntax.Stmt {
	from := p.here()
	var e syntax.Expr
	switch t {
	case tokLBrace:
		return p.match(p.relation(p.setExpr(), from), from)
	case tokMeta:
		p.take()
		switch m := p.meta(from, true).(type) {
		case syntax.Stmt:
			return m
		case *syntax.Meta:
			e = m
		}
	case tokCt:
		p.take()
		x, s := p.ct(from, true)
		if s != nil {
			return s
		}
		e = x
	case tokIpsec:
		e = p.ipsec()
	default:
		if !beginsExpr(t) {
			return nil
		}
		e = p.primary()
	}
	if p.bad {
		return nil
	}
	if p.peek() == tokSet && t != tokLParen {
		if s := p.setField(e, from); s != nil || p.bad {
			return s
		}
	}
	e = p.concatenation(e, from)
	if p.accept(tokVmap) {
		m := &syntax.Map{Key: e, Mappings: p.verdictMap()}
		m.Loc = p.since(from)
		v := p.ends.new()
		v.Loc, v.Expr = m.Loc, m
		return v
	}
	return p.match(p.relation(p.mapped(e, from), from), from)
}

func (p *parser) match(e syntax.Expr, from syntax.Loc) syntax.Stmt {
	m := p.matches.new()
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
	if _, ok := bareKeys[t]; ok {
		return true
	}
	_, ok := headers[t]
	return ok
}

// setField takes "set" and a value, if what came before can be set. It is nil if not.
func (p *parser) setField(e syntax.Expr, from syntax.Loc) syntax.Stmt {
	switch x := e.(type) {
	case *syntax.Payload:
		p.take()
		s := &syntax.SetPayload{Field: e, Value: p.stmtExpr()}
		s.Loc = p.since(from)
		return s
	case *syntax.Exthdr:
		if x.Op == expr.ExthdrIPv6 {
			return nil
		}
		p.take()
		s := &syntax.SetExthdr{Field: e, Value: p.stmtExpr()}
		s.Loc = p.since(from)
		return s
	case *syntax.Meta:
		if !x.Bare {
			return nil
		}
		p.take()
		s := &syntax.SetMeta{Key: x.Key, Value: p.stmtExpr()}
		s.Loc = p.since(from)
		return s
	}
	return nil
}

// jump takes a jump or goto to a chain, or to one in braces.
func (p *parser) jump(t token) syntax.Stmt {
	from := p.here()
	e := p.verdict(t, true)
	if p.bad {
		return nil
	}
	v, _ := e.(*syntax.Verdict)
	if v.Chain != nil {
		s := p.ends.new()
		s.Loc, s.Expr = p.since(from), v
		return s
	}
	// The chain has been looked for, and does not come.
	p.deepen()
	begin := p.here()
	c := &syntax.ChainDecl{Anonymous: true}
	if !p.expect(tokLBrace) {
		p.leaveBlock()
		return nil
	}
	p.inside(6, func() syntax.Expr {
		p.subchain(c)
		return nil
	})
	p.expect(tokRBrace)
	c.Loc = p.since(begin)
	p.leaveBlock()
	s := &syntax.ChainStmt{Code: v.Code, Chain: c}
	s.Loc = p.since(from)
	return s
}

// deepen opens the block of a chain in braces. If nft has no room for its variables, that is a mistake, but it goes on.
func (p *parser) deepen() {
	if p.open() {
		return
	}
	p.mistakes = append(p.mistakes, syntax.Wrong("too many levels of nesting", p.nowhere()))
	p.found++
	if p.found > mostMistakes*mostMistakes {
		p.stop() // nft fails an assertion much earlier
	}
}

// setUpdate takes a statement that adds to a set or map, or deletes from it.
func (p *parser) setUpdate(t token) syntax.Stmt {
	from := p.here()
	if t == tokSet {
		p.take()
		op, ok := setOps[p.peek()]
		if !ok {
			p.unexpected(tokAdd, tokUpdate, tokDelete)
			return nil
		}
		p.take()
		s := &syntax.SetUpdate{Op: op, Key: p.elementKey()}
		s.Set = p.setName()
		s.Loc = p.since(from)
		return s
	}
	op := setOps[t]
	p.take()
	set := p.setName()
	p.expect(tokLBrace)
	key := p.elementKey()
	var stmts []syntax.Stmt
	p.statefulStatements(&stmts)
	switch p.peek() {
	case tokRBrace:
		p.take()
	case tokColon:
		p.take()
		data := p.elementKey()
		p.expect(tokRBrace)
		m := &syntax.MapUpdate{Op: op, Set: set, Key: key, Data: data, Stmts: stmts}
		m.Loc = p.since(from)
		return m
	default:
		p.unexpected(anything...)
		return nil
	}
	s := &syntax.SetUpdate{Op: op, Set: set, Key: key, Stmts: stmts}
	s.Loc = p.since(from)
	return s
}

var setOps = map[token]expr.DynsetOp{tokAdd: expr.DynsetAdd, tokUpdate: expr.DynsetUpdate, tokDelete: expr.DynsetDelete}

// elementKey takes the key, or the data, of an element that a packet makes, with its options.
func (p *parser) elementKey() syntax.Expr {
	e := p.elems.new()
	from := p.here()
	e.Key = p.key()
	e.Loc = p.since(from)
	p.elementOptions(e)
	return e
}

// meter takes "meter NAME [size N] { KEY STATEMENT }".
func (p *parser) meter() syntax.Stmt {
	from := p.here()
	p.take()
	m := &syntax.MeterStmt{Name: p.identifier()}
	if p.accept(tokSize) {
		m.Size = uint32(p.number())
		p.expect(tokLBrace)
	} else {
		p.expect(tokLBrace, tokSize)
	}
	p.meterRest(m)
	m.Loc = p.since(from)
	return m
}

func (p *parser) meterRest(m *syntax.MeterStmt) {
	m.Key = p.elementKey()
	if p.bad {
		return
	}
	p.inside(4, func() syntax.Expr {
		m.Stmt = p.stmt(p.peek())
		return nil
	})
	if m.Stmt == nil {
		p.unexpected(anything...)
	}
	p.expect(tokRBrace)
}

// flow takes "flow add @NAME", or the older form of meter, "flow table NAME { KEY STATEMENT }".
func (p *parser) flow() syntax.Stmt {
	from := p.here()
	p.take()
	if t := p.peek(); t == tokAdd || t == tokOffload {
		p.take()
		p.expect(tokAt)
		s := &syntax.FlowStmt{Table: p.str()}
		p.close(scopeAt)
		s.Loc = p.since(from)
		return s
	}
	m := &syntax.MeterStmt{}
	p.expect(tokTable)
	m.Name = p.identifier()
	for p.accept(tokTable) {
		m.Name = p.identifier()
	}
	p.expect(tokLBrace, tokTable)
	p.meterRest(m)
	m.Loc = p.since(from)
	return m
}

// strip takes "reset tcp option NAME".
func (p *parser) strip() syntax.Stmt {
	from := p.here()
	p.take()
	p.expect(tokTcp)
	p.expect(tokOption)
	at := p.here()
	e := &syntax.Exthdr{Op: expr.ExthdrTCPOption}
	if _, ok := p.tcpOptionType(e); !ok {
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
func (p *parser) xt() syntax.Stmt {
	from := p.here()
	p.take()
	p.identifier()
	p.identifier()
	p.wrong("unsupported xtables compat expression, use iptables-nft with this ruleset", p.since(from))
	return nil
}
