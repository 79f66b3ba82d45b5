package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// names of the kinds of expressions in messages.
func kindOf(e syntax.Expr) string {
	switch e.(type) {
	case *syntax.Verdict:
		return "verdict"
	case *syntax.Symbol:
		return "symbol"
	case *syntax.Variable:
		return "variable"
	case *syntax.Value:
		if isWildcard(e) {
			return "prefix"
		}
		return "value"
	case *syntax.Prefix:
		return "prefix"
	case *syntax.Range:
		return "range"
	case *syntax.Catchall:
		return "catch-all set element"
	case *syntax.Set:
		return "set"
	case *syntax.SetRef:
		return "set reference"
	case *syntax.Element:
		return "element"
	}
	return kindOfMany(e)
}

func kindOfMany(e syntax.Expr) string {
	switch e.(type) {
	case *syntax.Concat:
		return "concat"
	case *syntax.List:
		return "list"
	case *syntax.Mapping:
		return "mapping"
	case *syntax.Map:
		return "map"
	case *syntax.Unary:
		return "unary"
	case *syntax.Binop:
		return "binop"
	case *syntax.Relational:
		return "relational"
	}
	if kind := syntax.PrimaryKind(e); kind != "" {
		return kind
	}
	return "unknown"
}

// isConstant says whether an expression that was evaluated is the same for every packet. Like nft it takes maps for such.
func isConstant(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Verdict, *syntax.Value, *syntax.Prefix, *syntax.Range, *syntax.Catchall, *syntax.Set, *syntax.SetRef, *syntax.Map,
		*syntax.Mapping:
		return true
	case *syntax.Element:
		return isConstant(e.Key)
	case *syntax.Concat:
		for _, part := range e.Parts {
			if !isConstant(part) {
				return false
			}
		}
		return true
	}
	return false
}

// isSingleton says whether a constant is one value.
func isSingleton(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Verdict, *syntax.Catchall:
		return true
	case *syntax.Value:
		return !isWildcard(e)
	case *syntax.Element:
		return isSingleton(e.Key)
	case *syntax.Mapping:
		return isSingleton(e.Key)
	case *syntax.Concat:
		for _, part := range e.Parts {
			if !isSingleton(part) {
				return false
			}
		}
		return true
	}
	return false
}

// isWildcard says whether it is the beginning of a name.
func isWildcard(e syntax.Expr) bool {
	v, ok := e.(*syntax.Value)
	return ok && v.Type.Is(syntax.TypeString) && v.Bits != 0 && v.Type.Bits != 0 && v.Bits < v.Type.Bits
}

// exprChecker evaluates expressions: it gives them the types that their places want, and makes values of constants.
type exprChecker struct {
	*notes
	*state
	*nodes
	world World
	keys  *keyChecker
	sets  *setChecker
}

// eval evaluates an expression in its place.
func (c *exprChecker) eval(at *syntax.Expr) bool {
	switch e := (*at).(type) {
	case nil:
		return false // a mistake of the parser's was told
	case *syntax.Symbol:
		return c.evalSymbol(at, e)
	case *syntax.Variable:
		*at = syntax.Clone(e.To)
		return c.eval(at)
	case *syntax.Value:
		return c.evalValue(at, e)
	case *syntax.Verdict:
		return c.evalVerdict(e)
	case *syntax.SetRef:
		return c.sets.evalSetRef(e)
	case *syntax.Catchall:
		e.Type, e.Order, e.Bits = c.want.typ, c.want.order, c.want.bits
		return true
	case *syntax.Prefix:
		return c.evalPrefix(at, e)
	case *syntax.Range:
		return c.evalRange(e)
	case *syntax.Unary:
		return true
	case *syntax.Binop:
		return c.evalBinop(at, e)
	case *syntax.Concat:
		return c.evalConcat(e)
	case *syntax.List:
		return c.evalList(at, e)
	case *syntax.Set:
		return c.sets.evalSet(at, e)
	case *syntax.Element:
		return c.sets.evalElement(e)
	case *syntax.Mapping:
		return c.sets.evalMapping(e)
	case *syntax.Map:
		return c.sets.evalMap(at, e)
	case *syntax.Relational:
		return c.evalRelational(at, e)
	case *syntax.FlagCmp:
		return c.evalFlagCmp(at, e)
	}
	return c.evalPrimary(at)
}

func (c *exprChecker) evalPrimary(at *syntax.Expr) bool {
	switch e := (*at).(type) {
	case *syntax.Payload:
		return c.keys.evalPayload(at, e)
	case *syntax.Exthdr:
		return c.keys.evalExthdr(at, e)
	case *syntax.Meta:
		return c.keys.evalMeta(e)
	case *syntax.CT:
		return c.keys.evalCT(e)
	case *syntax.RT:
		return c.keys.evalRT(e)
	case *syntax.Socket:
		e.Type, e.Bits, e.Order = syntax.SocketType(e.Key)
		c.primary(e)
		if e.Key == syntax.SocketTransparent || e.Key == syntax.SocketWildcard {
			c.want.max = 1
		}
		return true
	case *syntax.Osf:
		e.Type, e.Bits, e.Order = syntax.TypeString, 128, syntax.HostOrder
		return c.primary(e)
	case *syntax.XFRM:
		return c.keys.evalXFRM(e)
	case *syntax.Fib:
		e.Type, e.Bits, e.Order = syntax.FibType(e.Result, e.Flags)
		return c.primary(e)
	case *syntax.Numgen:
		e.Type, e.Bits, e.Order = syntax.TypeInteger, 32, syntax.HostOrder
		c.takeWanted(&e.Common)
		c.primary(e)
		c.want.max = uint64(e.Modulus + e.Offset - 1)
		return true
	case *syntax.Hash:
		return c.evalHash(e)
	}
	return c.wrong(fmt.Sprintf("chainwalk does not support %s expressions here", kindOf(*at)), loc(*at))
}

func (c *exprChecker) evalHash(e *syntax.Hash) bool {
	e.Type, e.Bits, e.Order = syntax.TypeInteger, 32, syntax.HostOrder
	c.takeWanted(&e.Common)
	c.expectType(nil, 0)
	if e.Of != nil && !c.eval(&e.Of) {
		return false
	}
	c.primary(e)
	c.want.max = uint64(e.Modulus + e.Offset - 1)
	return true
}

func (c *exprChecker) evalVerdict(e *syntax.Verdict) bool {
	e.Type = syntax.TypeVerdict
	if e.Chain != nil {
		c.expect(syntax.TypeString, syntax.NoOrder, 0, 0)
		if !c.eval(&e.Chain) {
			return false
		}
		if _, ok := e.Chain.(*syntax.Value); !ok {
			return c.wrong("not a value expression", loc(e.Chain))
		}
	}
	c.expect(syntax.TypeVerdict, syntax.NoOrder, 0, 0)
	return true
}

// evalPrefix clears the bits of an address that its prefix does not cover.
func (c *exprChecker) evalPrefix(at *syntax.Expr, e *syntax.Prefix) bool {
	if !c.eval(&e.Of) {
		return false
	}
	if !isConstant(e.Of) {
		return c.wrong("Prefix expression is undefined for non-constant expressions", e.Loc)
	}
	of := e.Of.Info()
	v, ok := e.Of.(*syntax.Value)
	if !ok || of.Type.Basic() != syntax.TypeInteger {
		if ok && of.Type.Is(syntax.TypeString) {
			return c.wrong("chainwalk does not support prefixes of names", e.Loc)
		}
		return c.wrong(fmt.Sprintf("Prefix expression is undefined for %s types", of.Type.Desc), e.Loc)
	}
	if e.Len > of.Bits {
		return c.wrong(fmt.Sprintf("Prefix length %d is invalid for type of %d bits width", e.Len, of.Bits), e.Loc)
	}
	v.Num = v.Num.And(syntax.PrefixMask(of.Bits, e.Len))
	e.Type, e.Order, e.Bits = of.Type, of.Order, of.Bits
	return true
}

func (c *exprChecker) evalEnd(r *syntax.Range, at *syntax.Expr) bool {
	if !c.eval(at) {
		return false
	}
	k := (*at).Info()
	if k.Type.Basic() != syntax.TypeInteger {
		return c.wrong(fmt.Sprintf("Range expression is undefined for %s types", k.Type.Desc), k.Loc, r.Loc)
	}
	if _, ok := (*at).(*syntax.Value); !ok {
		return c.wrong("Range is not constant", k.Loc, r.Loc)
	}
	return true
}

func (c *exprChecker) evalRange(e *syntax.Range) bool {
	if !c.evalEnd(e, &e.Min) || !c.evalEnd(e, &e.Max) {
		return false
	}
	from, to := e.Min.(*syntax.Value), e.Max.(*syntax.Value)
	if from.Num.Cmp(to.Num) > 0 {
		return c.wrong("Range has zero or negative size", e.Loc)
	}
	e.Type, e.Order, e.Bits = from.Type, from.Order, from.Bits
	return true
}

// evalList makes one value of flags.
func (c *exprChecker) evalList(at *syntax.Expr, e *syntax.List) bool {
	all := &syntax.Value{}
	for i := range e.Items {
		if !c.eval(&e.Items[i]) {
			return false
		}
		v, ok := e.Items[i].(*syntax.Value)
		if !ok || isWildcard(v) {
			return c.wrong("List member must be a constant value", loc(e.Items[i]))
		}
		if v.Type.Base == nil || v.Type.Base.ID != syntax.TypeBitmask.ID {
			return c.wrong(fmt.Sprintf("Basetype of type %s is not bitmask", v.Type.Desc), v.Loc)
		}
		all.Num = all.Num.Or(v.Num)
	}
	all.Common = syntax.Common{Loc: e.Loc, Type: c.want.typ, Order: syntax.HostOrder, Bits: c.want.bits}
	*at = all
	return true
}

func (c *exprChecker) evalFlagCmp(at *syntax.Expr, e *syntax.FlagCmp) bool {
	op := syntax.OpEq
	if e.Invert {
		op = syntax.OpNeq
	}
	masked := &syntax.Binop{Common: syntax.Common{Loc: e.Loc}, Op: syntax.OpAnd, Left: e.Of, Right: e.Mask}
	*at = &syntax.Relational{Common: syntax.Common{Loc: e.Loc}, Op: op, Left: masked, Right: e.Value}
	return c.eval(at)
}
