package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

var binaryOps = [...]string{syntax.OpAnd: "&", syntax.OpOr: "|", syntax.OpXor: "^", syntax.OpLeft: "<<", syntax.OpRight: ">>"}

// evalBinop computes constants, and leaves what depends on packets with a constant on its right.
func (c *exprChecker) evalBinop(at *syntax.Expr, e *syntax.Binop) bool {
	if !c.eval(&e.Left) {
		return false
	}
	shift := e.Op == syntax.OpLeft || e.Op == syntax.OpRight
	if shift {
		c.expect(syntax.TypeInteger, e.Left.Info().Order, c.want.bits, 0)
	}
	if !c.eval(&e.Right) {
		return false
	}
	left, right, sign := e.Left, e.Right, binaryOps[e.Op]
	switch left.Info().Type.Basic() {
	case syntax.TypeInteger, syntax.TypeString:
	default:
		return c.wrong(fmt.Sprintf("Binary operation (%s) is undefined for %s types", sign, left.Info().Type.Desc), loc(left), e.Loc)
	}
	if isConstant(left) && !isSingleton(left) {
		return c.wrong(fmt.Sprintf("Binary operation (%s) is undefined for %s expressions", sign, kindOf(left)), loc(left), e.Loc)
	}
	if !isConstant(right) {
		return c.wrong(fmt.Sprintf("Right hand side of binary operation (%s) must be constant", sign), loc(right), e.Loc)
	}
	by, ok := right.(*syntax.Value)
	if !ok || !isSingleton(right) {
		return c.wrong(fmt.Sprintf("Binary operation (%s) is undefined for %s expressions", sign, kindOf(right)), loc(left), e.Loc)
	}
	if shift {
		return c.shift(at, e, by)
	}
	numeric(left)
	numeric(right)
	c.reorder(&e.Right, left.Info().Order)
	return c.fold(at, e, by)
}

// numeric makes of a name the number that its bytes are, for operations on bits.
func numeric(e syntax.Expr) {
	v, ok := e.(*syntax.Value)
	if !ok || v.Text == "" {
		return
	}
	for i := min(len(v.Text), syntax.Bytes(v.Bits), 16) - 1; i >= 0; i-- {
		v.Num = v.Num.Left(8).Or(syntax.Num{Lo: uint64(v.Text[i])})
	}
	v.Text = ""
}

func (c *exprChecker) shift(at *syntax.Expr, e *syntax.Binop, by *syntax.Value) bool {
	if bits := e.Left.Info().Bits; by.Num.Hi != 0 || by.Num.Lo&0xffffffff >= uint64(bits) {
		side := "Right"
		if e.Op == syntax.OpLeft {
			side = "Left"
		}
		return c.wrong(fmt.Sprintf("%s shift of %d bits is undefined for type of %d bits width", side, uint32(by.Num.Lo), bits),
			by.Loc, loc(e.Left))
	}
	if !c.reorder(&e.Left, syntax.HostOrder) || !c.reorder(&e.Right, syntax.HostOrder) {
		return false
	}
	return c.fold(at, e, by)
}

// fold gives an operation its type, and makes a value of one on constants.
func (c *exprChecker) fold(at *syntax.Expr, e *syntax.Binop, by *syntax.Value) bool {
	k := e.Left.Info()
	e.Type, e.Order, e.Bits = k.Type, k.Order, k.Bits
	left, ok := e.Left.(*syntax.Value)
	if !ok {
		if inner, ok := e.Left.(*syntax.Binop); ok && inner.Op == syntax.OpAnd && e.Op == syntax.OpAnd {
			mask := inner.Right.(*syntax.Value)
			mask.Num = mask.Num.And(by.Num)
			inner.Loc = e.Loc
			*at = inner
		}
		return true
	}
	v := &syntax.Value{Common: e.Common}
	switch e.Op {
	case syntax.OpAnd:
		v.Num = left.Num.And(by.Num)
	case syntax.OpOr:
		v.Num = left.Num.Or(by.Num)
	case syntax.OpXor:
		v.Num = left.Num.Xor(by.Num)
	case syntax.OpLeft:
		v.Num = left.Num.Left(uint(by.Num.Lo))
	case syntax.OpRight:
		v.Num = left.Num.Right(uint(by.Num.Lo))
	}
	v.Num = v.Num.And(syntax.Ones(e.Bits))
	*at = v
	if v.Type.Is(syntax.TypeString) {
		return true
	}
	return c.evalValue(at, v)
}

var orderNames = [...]string{syntax.NoOrder: "invalid", syntax.HostOrder: "host endian", syntax.BigEndian: "big endian"}

// reorder brings an expression into an order of bytes: constants by naming the order, others by an operation.
func (c *exprChecker) reorder(at *syntax.Expr, order syntax.ByteOrder) bool {
	e := *at
	if concat, ok := e.(*syntax.Concat); ok {
		for i, part := range concat.Parts {
			k := part.Info()
			if k.Order == syntax.BigEndian || k.Type.Basic() == syntax.TypeString || isConstant(part) || k.Bits < 16 {
				continue
			}
			concat.Parts[i] = converted(part, order)
		}
		return true
	}
	k := e.Info()
	if k.Order == order {
		return true
	}
	switch k.Type.Basic() {
	case syntax.TypeInteger:
	case syntax.TypeString:
		return true
	default:
		return c.wrong(fmt.Sprintf("Byteorder mismatch: %s expected %s, %s got %s",
			orderNames[order], kindOf(e), kindOf(e), orderNames[k.Order]), k.Loc)
	}
	if isConstant(e) || k.Bits/8 < 2 {
		k.Order = order
		return true
	}
	*at = converted(e, order)
	return true
}

func converted(e syntax.Expr, order syntax.ByteOrder) syntax.Expr {
	u := &syntax.Unary{Common: *e.Info(), ToHost: order == syntax.HostOrder, Of: e}
	u.Order = order
	return u
}

// transfer moves what can be undone from the left side of a comparison to the constants on its right: a field of some bits is compared
// where it lies within its bytes.
func (c *exprChecker) transfer(left *syntax.Expr, right *syntax.Expr) bool {
	op, ok := (*left).(*syntax.Binop)
	if !ok || op.Op != syntax.OpLeft && op.Op != syntax.OpRight && op.Op != syntax.OpXor {
		return true
	}
	by := op.Right.(*syntax.Value)
	items := c.transferable(right)
	for _, item := range items {
		can, ok := c.canTransfer(op, by, *item)
		if !ok || !can {
			return ok
		}
	}
	if len(items) == 0 {
		return true
	}
	for _, item := range items {
		if !c.transferOne(op.Op, by, item) {
			return false
		}
	}
	switch op.Op {
	case syntax.OpRight:
		mask := syntax.Ones(op.Left.Info().Bits).Left(uint(by.Num.Lo)).And(syntax.Ones(op.Left.Info().Bits))
		by.Num, op.Op = mask, syntax.OpAnd
		by.Order = op.Left.Info().Order
		by.Bits = op.Left.Info().Bits
		if inner, ok := op.Left.(*syntax.Binop); ok && inner.Op == syntax.OpAnd {
			m := inner.Right.(*syntax.Value)
			m.Num = m.Num.And(mask)
			*left = inner
		}
	default:
		k := op.Left.Info()
		k.Type = op.Type
		*left = op.Left
	}
	return true
}

// transferable are the constants that a comparison is with.
func (c *exprChecker) transferable(right *syntax.Expr) []*syntax.Expr {
	switch e := (*right).(type) {
	case *syntax.Value, *syntax.Range:
		return []*syntax.Expr{right}
	case *syntax.Set:
		var items []*syntax.Expr
		for i := range e.Items {
			items = append(items, &e.Items[i])
		}
		return items
	case *syntax.SetRef:
		if e.Set != nil && e.Set.ID != 0 && isAnonymous(e.Set) && e.Set.Elements != nil {
			return c.transferable(&e.Set.Elements)
		}
	}
	return nil
}

func (c *exprChecker) canTransfer(op *syntax.Binop, by *syntax.Value, e syntax.Expr) (can, ok bool) {
	switch e := e.(type) {
	case *syntax.Element:
		return c.canTransfer(op, by, e.Key)
	case *syntax.Mapping:
		return c.canTransfer(op, by, e.Key)
	case *syntax.Range:
		if can, ok := c.canTransfer(op, by, e.Min); !can || !ok {
			return can, ok
		}
		return c.canTransfer(op, by, e.Max)
	case *syntax.Value:
		switch op.Op {
		case syntax.OpLeft:
			if !e.Num.IsZero() && uint64(e.Num.FirstOne()) < by.Num.Lo {
				return false, c.wrong("Comparison is always false", e.Loc, op.Loc)
			}
		case syntax.OpRight:
			if c.want.bits < e.Bits+int(by.Num.Lo) {
				c.want.bits += int(by.Num.Lo)
			}
			if of := op.Left.Info().Bits; byteCount(c.want.bits) > byteCount(of) || by.Num.IsZero() && isConverted(op.Left) {
				return false, c.wrong(fmt.Sprintf("chainwalk does not support comparing %d bits that are shifted to the right: nft 1.0.6 makes "+
					"the constant longer than that, or turns its bytes round", of), e.Loc, op.Loc)
			}
		}
		return true, true
	}
	return false, true
}

// isConverted says that the order of bytes is changed before.
func isConverted(e syntax.Expr) bool {
	_, is := e.(*syntax.Unary)
	return is
}

// byteCount is how many bytes hold some bits.
func byteCount(bits int) int { return (bits + 7) / 8 }

func (c *exprChecker) transferOne(op syntax.BinaryOp, by *syntax.Value, at *syntax.Expr) bool {
	switch e := (*at).(type) {
	case *syntax.Element:
		return c.transferOne(op, by, &e.Key)
	case *syntax.Mapping:
		return c.transferOne(op, by, &e.Key)
	case *syntax.Range:
		return c.transferOne(op, by, &e.Min) && c.transferOne(op, by, &e.Max)
	case *syntax.Value:
		switch op {
		case syntax.OpLeft:
			e.Num = e.Num.Right(uint(by.Num.Lo))
		case syntax.OpRight:
			e.Num = e.Num.Left(uint(by.Num.Lo))
			e.Bits = c.want.bits
		case syntax.OpXor:
			numeric(e)
			if e.Num = e.Num.Xor(by.Num); e.Num.IsZero() && e.Type.Is(syntax.TypeString) {
				return c.wrong("Empty string is not allowed", e.Loc)
			}
		}
		if c.want.exceededBy(e.Num) {
			return c.exceeds(e)
		}
	}
	return true
}
