package check

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

func (c *stmtChecker) evalSetUpdate(s *syntax.SetUpdate) bool {
	set, ok := c.target(&s.Set)
	if !ok {
		return false
	}
	if _, ok := c.element(s, set.Key, &s.Key, "Key"); !ok {
		return false
	}
	if !c.ownStmts(s.Stmts) {
		return false
	}
	set.Flags |= nftables.SetEval
	return true
}

func (c *stmtChecker) evalMapUpdate(s *syntax.MapUpdate) bool {
	set, ok := c.target(&s.Set)
	if !ok {
		return false
	}
	if _, ok := c.element(s, set.Key, &s.Key, "Key"); !ok {
		return false
	}
	if set.Data == nil {
		return c.wrong("Expression is not a map", loc(s.Set))
	}
	data, ok := c.element(s, set.Data, &s.Data, "Data")
	if !ok {
		return false
	}
	if data.HasTimeout {
		return c.wrong("Data expression timeouts are not supported", data.Loc)
	}
	return c.ownStmts(s.Stmts)
}

func (c *stmtChecker) evalMeter(s *syntax.MeterStmt) bool {
	c.expectType(nil, 0)
	el, ok := s.Key.(*syntax.Element)
	if !ok {
		el = &syntax.Element{Common: *s.Key.Info(), Key: s.Key}
		s.Key = el
	}
	if !c.exprs.eval(&s.Key) {
		return false
	}
	if isConstant(el.Key) {
		return c.wrong("Meter key expression can not be constant", el.Loc)
	}
	if el.HasComment {
		return c.wrong("Meter key expression can not contain comments", el.Loc)
	}
	flags := nftables.SetEval
	if el.HasTimeout {
		flags |= nftables.SetTimeout
	}
	ref := c.sets.implicitSet(s.Name, keyLike(el.Key), nil, &syntax.Set{Common: syntax.Common{Loc: el.Loc}}, flags)
	ref.Set.Size = s.Size
	s.Set = ref
	if !c.evalStmt(s.Stmt) {
		return false
	}
	if !isStateful(s.Stmt) {
		return c.wrong("meter statement must be stateful", s.Stmt.Place(), s.Loc)
	}
	return true
}

// ownStmts checks the statements that the elements of a set get.
func (c *stmtChecker) ownStmts(list []syntax.Stmt) bool {
	for _, s := range list {
		if !c.evalStmt(s) {
			return false
		}
		if !isStateful(s) {
			return c.wrong("statement must be stateful", s.Place())
		}
	}
	return true
}

// target evaluates the set that a statement changes.
func (c *stmtChecker) target(at *syntax.Expr) (*syntax.SetDecl, bool) {
	c.expectType(nil, 0)
	if !c.exprs.eval(at) {
		return nil, false
	}
	ref, ok := (*at).(*syntax.SetRef)
	if !ok {
		return nil, c.wrong("Expression does not refer to a set", loc(*at))
	}
	return ref.Set, true
}

// element evaluates the key of an element that a statement adds, or its data.
func (c *stmtChecker) element(s syntax.Stmt, of syntax.Expr, at *syntax.Expr, word string) (*syntax.Element, bool) {
	el, ok := (*at).(*syntax.Element)
	if !ok {
		el = &syntax.Element{Common: *(*at).Info(), Key: *at}
		*at = el
	}
	k := of.Info()
	if !c.evalArg(s, k.Type, k.Bits, k.Order, &el.Key) {
		return nil, false
	}
	el.Type, el.Bits, el.Order = el.Key.Info().Type, el.Key.Info().Bits, el.Key.Info().Order
	if el.HasComment {
		return nil, c.wrong(word+" expression comments are not supported", el.Loc)
	}
	return el, true
}
