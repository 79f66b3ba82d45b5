package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

var relationalOps = [...]string{
	syntax.OpImplicit: "(null)", syntax.OpEq: "==", syntax.OpNeq: "!=", syntax.OpLt: "<", syntax.OpGt: ">", syntax.OpLte: "<=",
	syntax.OpGte: ">=", syntax.OpNeg: "!",
}

// evalRelational checks a comparison. What comes out has on its left what is loaded and on its right a constant or a set, in one order of
// bytes.
func (c *exprChecker) evalRelational(at *syntax.Expr, e *syntax.Relational) bool {
	exists(e)
	if !c.eval(&e.Left) {
		return false
	}
	if r, ok := e.Right.(*syntax.Range); ok && isClock(e.Left) && !c.turnRange(e, r) {
		return false
	}
	if !c.eval(&e.Right) || !c.comparable(e) {
		return false
	}
	var ok bool
	switch e.Op {
	case syntax.OpEq, syntax.OpImplicit:
		c.learn(e)
		ok = c.equality(e)
	case syntax.OpNeq, syntax.OpNeg:
		ok = c.equality(e)
	default:
		ok = c.order(e)
	}
	if !ok || !c.transfer(&e.Left, &e.Right) {
		return false
	}
	if e.Op == syntax.OpImplicit && !isFlagTest(e) {
		e.Op = syntax.OpEq
	}
	return true
}

// exists makes of fib and exthdr with "exists" and "missing" the question whether there is something.
func exists(e *syntax.Relational) {
	v, ok := e.Right.(*syntax.Value)
	if !ok || v.Type != syntax.TypeBoolean {
		return
	}
	if fib, ok := e.Left.(*syntax.Fib); ok {
		fib.Flags |= expr.FibPresent
	}
}

// isFlagTest says whether a comparison without an operator asks for one of several flags.
func isFlagTest(e *syntax.Relational) bool {
	v, ok := e.Right.(*syntax.Value)
	return ok && v.Type.Base != nil && v.Type.Base.ID == syntax.TypeBitmask.ID
}

func isClock(e syntax.Expr) bool {
	m, ok := e.(*syntax.Meta)
	return ok && (m.Key == expr.MetaTimeHour || m.Key == expr.MetaTimeDay)
}

// turnRange is for hours from before to after midnight: they are all but those between.
func (c *exprChecker) turnRange(e *syntax.Relational, r *syntax.Range) bool {
	saved := c.want
	if !c.evalEnd(r, &r.Min) || !c.evalEnd(r, &r.Max) {
		return false
	}
	c.want = saved
	if r.Min.(*syntax.Value).Num.Cmp(r.Max.(*syntax.Value).Num) <= 0 {
		return true
	}
	switch e.Op {
	case syntax.OpEq, syntax.OpImplicit:
		e.Op = syntax.OpNeq
	case syntax.OpNeq:
		e.Op = syntax.OpEq
	default:
		return true
	}
	r.Min, r.Max = r.Max, r.Min
	return true
}

func (c *exprChecker) comparable(e *syntax.Relational) bool {
	left, right, sign := e.Left.Info(), e.Right.Info(), relationalOps[e.Op]
	switch {
	case !isConstant(e.Right):
		return c.wrong(fmt.Sprintf("Right hand side of relational expression (%s) must be constant", sign), right.Loc, e.Loc)
	case isConstant(e.Left):
		return c.wrong(fmt.Sprintf("Relational expression (%s) has constant value", sign), left.Loc, right.Loc)
	case !sameType(left.Type, right.Type):
		return c.wrong(fmt.Sprintf("datatype mismatch, expected %s, expression has type %s", left.Type.Desc, right.Type.Desc),
			right.Loc, left.Loc)
	case isSecmark(e.Left):
		return c.wrong("Cannot be used with right hand side constant value", right.Loc, left.Loc)
	}
	return true
}

func isSecmark(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Meta:
		return e.Key == expr.MetaSecmark
	case *syntax.CT:
		return e.Key == expr.CTSecmark
	}
	return false
}

// sameType says whether two types have the same number, which is all that nft compares.
func sameType(a, b *syntax.Datatype) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID
}

func (c *exprChecker) equality(e *syntax.Relational) bool {
	left, right := loc(e.Left), loc(e.Right)
	if e.Op == syntax.OpNeg {
		if _, ok := e.Left.(*syntax.Binop); ok {
			return c.wrong("cannot combine negation with binary expression", left, right)
		}
		if v, ok := e.Right.(*syntax.Value); !ok || v.Type.Base == nil || v.Type.Base.ID != syntax.TypeBitmask.ID {
			return c.wrong("negation can only be used with singleton bitmask values", left, right)
		}
	}
	switch r := e.Right.(type) {
	case *syntax.Range:
		return c.reorder(&e.Left, syntax.BigEndian) && c.reorder(&r.Min, syntax.BigEndian) && c.reorder(&r.Max, syntax.BigEndian)
	case *syntax.Prefix:
		return c.reorder(&r.Of, e.Left.Info().Order)
	case *syntax.Value:
		if isWildcard(r) {
			return true
		}
		return c.reorder(&e.Right, e.Left.Info().Order)
	case *syntax.Set:
		if len(r.Items) == 0 {
			return c.wrong("Set is empty", right)
		}
		e.Right = c.sets.implicitSet("__set%d", keyLike(e.Left), nil, r, 0)
		return c.looksUp(e)
	case *syntax.SetRef:
		return c.looksUp(e)
	case *syntax.Concat:
		return c.wrong("Use concatenations with sets and maps, not singleton values", left, right)
	}
	return c.wrong(fmt.Sprintf("chainwalk does not support comparing with %s expressions", kindOf(e.Right)), right)
}

// looksUp is for a comparison with a set. One with intervals wants the first byte to weigh most.
func (c *exprChecker) looksUp(e *syntax.Relational) bool {
	if isPlainCTAddress(e.Left) {
		return c.wrong("specify either ip or ip6 for address matching", loc(e.Left))
	}
	set := e.Right.(*syntax.SetRef).Set
	return set.Flags&nftables.SetInterval == 0 || c.reorder(&e.Left, syntax.BigEndian)
}

func isPlainCTAddress(e syntax.Expr) bool {
	ct, ok := e.(*syntax.CT)
	return ok && (ct.Key == expr.CTSrc || ct.Key == expr.CTDst)
}

// order is for <, >, <= and >=.
func (c *exprChecker) order(e *syntax.Relational) bool {
	sign := relationalOps[e.Op]
	if _, ok := e.Left.(*syntax.Concat); ok {
		return c.wrong(fmt.Sprintf("Relational expression (%s) is undefined for %s expressions", sign, kindOf(e.Left)), loc(e.Left), e.Loc)
	}
	if !isSingleton(e.Right) {
		return c.wrong(fmt.Sprintf("Relational expression (%s) is undefined for %s expressions", sign, kindOf(e.Right)), loc(e.Right), e.Loc)
	}
	return c.reorder(&e.Left, syntax.BigEndian) && c.reorder(&e.Right, syntax.BigEndian)
}
