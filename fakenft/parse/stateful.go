package parse

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// statefulStatements takes one or more of counter, limit, quota and "ct count".
func (p *stmtParser) statefulStatements(to *[]syntax.Stmt) {
	for {
		var s syntax.Stmt
		switch p.peek() {
		case tokCounter:
			s = p.counter()
		case tokLimit:
			s = p.limit()
		case tokQuota:
			s = p.quota()
		case tokCt:
			from := p.here()
			p.take()
			p.expect(tokCount)
			s = p.amounts.connCount(from)
		default:
			return
		}
		if p.bad {
			return
		}
		*to = append(*to, s)
	}
}

// counter takes a counter, or the name of one or a map of names.
func (p *stmtParser) counter() syntax.Stmt {
	from := p.here()
	p.take()
	if p.accept(tokName) {
		o := &syntax.ObjectStmt{Type: expr.ObjectCounter, Object: p.exprs.stmtExpr()}
		o.Loc = p.since(from)
		p.amounts.counterArgs(&syntax.Counter{})
		p.close(scopeCounter)
		return o
	}
	c := &syntax.Counter{}
	c.Loc = p.last
	p.amounts.counterArgs(c)
	p.close(scopeCounter)
	return c
}

// quota takes a quota, or the name of one.
func (p *stmtParser) quota() syntax.Stmt {
	from := p.here()
	p.take()
	if p.accept(tokName) {
		o := &syntax.ObjectStmt{Type: expr.ObjectQuota, Object: p.exprs.stmtExpr()}
		o.Loc = p.since(from)
		p.close(scopeQuota)
		return o
	}
	q := p.amounts.quotaRest(from)
	p.close(scopeQuota)
	return q
}

// limit takes a limit, or the name of one.
func (p *stmtParser) limit() syntax.Stmt {
	from := p.here()
	p.take()
	switch p.peek() {
	case tokName:
		p.take()
		o := &syntax.ObjectStmt{Type: expr.ObjectLimit, Object: p.exprs.stmtExpr()}
		o.Loc = p.since(from)
		p.close(scopeLimit)
		return o
	case tokRate:
		p.take()
	default:
		p.unexpected(tokName, tokRate)
	}
	l := p.amounts.rate(from, "packet limit burst must be > 0")
	p.close(scopeLimit)
	return l
}
