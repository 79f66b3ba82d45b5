package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// setUpdate takes a statement that adds to a set or map, or deletes from it.
func (p *stmtParser) setUpdate(t token) syntax.Stmt {
	from := p.here()
	if t == tokSet {
		p.take()
		op, ok := setOps[p.peek()]
		if !ok {
			p.unexpected(tokAdd, tokUpdate, tokDelete)
			return nil
		}
		p.take()
		s := &syntax.SetUpdate{Op: op, Key: p.elements.elementKey()}
		s.Set = p.exprs.setName()
		s.Loc = p.since(from)
		return s
	}
	op := setOps[t]
	p.take()
	set := p.exprs.setName()
	p.expect(tokLBrace)
	key := p.elements.elementKey()
	var stmts []syntax.Stmt
	p.statefulStatements(&stmts)
	switch p.peek() {
	case tokRBrace:
		p.take()
	case tokColon:
		p.take()
		data := p.elements.elementKey()
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

// meter takes "meter NAME [size N] { KEY STATEMENT }".
func (p *stmtParser) meter() syntax.Stmt {
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

func (p *stmtParser) meterRest(m *syntax.MeterStmt) {
	m.Key = p.elements.elementKey()
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
func (p *stmtParser) flow() syntax.Stmt {
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
