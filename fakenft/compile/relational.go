package compile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// relational compares.
func (g *generator) relational(r *syntax.Relational) {
	held := g.free
	defer func() { g.free = held }()
	if r.Op == syntax.OpNeg || r.Op == syntax.OpImplicit && isFlags(r.Right) {
		g.anyFlag(r)
		return
	}
	switch right := r.Right.(type) {
	case *syntax.Set, *syntax.SetRef:
		from := g.take(r.Left)
		g.load(r.Left, from)
		if decl := g.set(right, r.Left); decl != nil {
			g.emit(r.Loc, &expr.Lookup{Sreg: from.register(), Set: setName(decl), SetID: decl.ID, Invert: r.Op == syntax.OpNeq})
		}
	case *syntax.Range:
		g.inRange(r, right)
	case *syntax.Prefix:
		g.prefix(r, right)
	case *syntax.Value:
		from := g.take(r.Left)
		data := appendValue(nil, right, right.Order)
		left := r.Left
		if isText(right) && len(data)*8 < bitsOf(left) {
			left = shortened(left, len(data)*8)
		}
		g.load(left, from)
		g.emit(r.Loc, &expr.Cmp{Sreg: from.register(), Op: cmpOp(r.Op), Data: data})
	default:
		n, isConstant := g.constant(right)
		if !isConstant {
			return
		}
		from := g.take(r.Left)
		g.load(r.Left, from)
		common := right.Info()
		data := appendNum(nil, n, syntax.Bytes(bitsOf(r.Left)), common.Order)
		g.emit(r.Loc, &expr.Cmp{Sreg: from.register(), Op: cmpOp(r.Op), Data: data})
	}
}

// isFlags says whether a value is flags, of which any one is enough.
func isFlags(e syntax.Expr) bool {
	switch e.(type) {
	case *syntax.Value, *syntax.List, *syntax.Binop:
	default:
		return false
	}
	t := e.Info().Type
	return t != nil && t.Base != nil && t.Is(syntax.TypeBitmask)
}

func cmpOp(op syntax.RelOp) expr.CmpOp {
	switch op {
	case syntax.OpNeq:
		return expr.Neq
	case syntax.OpLt:
		return expr.Lt
	case syntax.OpGt:
		return expr.Gt
	case syntax.OpLte:
		return expr.Lte
	case syntax.OpGte:
		return expr.Gte
	default:
		return expr.Eq
	}
}

// anyFlag holds if one of the flags is set; with "!" if none is.
func (g *generator) anyFlag(r *syntax.Relational) {
	from := g.take(r.Left)
	g.load(r.Left, from)
	n, isConstant := g.constant(r.Right)
	if !isConstant {
		return
	}
	size := syntax.Bytes(bitsOf(r.Left))
	order := r.Right.Info().Order
	flags := appendNum(nil, n, size, order)
	reg := from.register()
	op := expr.Neq
	if r.Op == syntax.OpNeg {
		op = expr.Eq
	}
	if _, isBinop := r.Left.(*syntax.Binop); isBinop {
		// nft compares with the flags themselves then.
		if r.Op == syntax.OpNeg {
			op = expr.Neq
		} else {
			op = expr.Eq
		}
		g.emit(r.Loc, &expr.Cmp{Sreg: reg, Op: op, Data: flags})
		return
	}
	zero := make([]byte, size)
	g.emit(r.Loc, &expr.Bitwise{Sreg: reg, Dreg: reg, Len: size, Mask: flags, Xor: zero})
	g.emit(r.Loc, &expr.Cmp{Sreg: reg, Op: op, Data: zero})
}

// flagCmp compares flags below a mask.
func (g *generator) flagCmp(f *syntax.FlagCmp) {
	held := g.free
	from := g.take(f.Of)
	g.load(f.Of, from)
	g.free = held
	mask, maskOK := g.constant(f.Mask)
	value, valueOK := g.constant(f.Value)
	if !maskOK || !valueOK {
		return
	}
	size, order := syntax.Bytes(bitsOf(f.Of)), f.Of.Info().Order
	reg := from.register()
	g.emit(f.Loc, &expr.Bitwise{Sreg: reg, Dreg: reg, Len: size, Mask: appendNum(nil, mask, size, order), Xor: make([]byte, size)})
	op := expr.Eq
	if f.Invert {
		op = expr.Neq
	}
	g.emit(f.Loc, &expr.Cmp{Sreg: reg, Op: op, Data: appendNum(nil, value, size, order)})
}

// inRange is two comparisons, or the expression range if the value is to be outside.
func (g *generator) inRange(r *syntax.Relational, in *syntax.Range) {
	from := g.take(r.Left)
	g.load(r.Left, from)
	least, most := g.data(in.Min), g.data(in.Max)
	reg := from.register()
	if r.Op == syntax.OpNeq {
		g.emit(r.Loc, &expr.Range{Sreg: reg, Op: expr.Neq, From: least, To: most})
		return
	}
	g.emit(r.Loc, &expr.Cmp{Sreg: reg, Op: expr.Gte, Data: least})
	g.emit(r.Loc, &expr.Cmp{Sreg: reg, Op: expr.Lte, Data: most})
}

// data is the bytes of a value.
func (g *generator) data(e syntax.Expr) []byte {
	v, isValue := e.(*syntax.Value)
	if !isValue {
		n, _ := g.constant(e)
		return appendNum(nil, n, syntax.Bytes(bitsOf(e)), e.Info().Order)
	}
	return appendValue(nil, v, v.Order)
}

// prefix compares the first bits: the first bytes alone if it is whole ones.
func (g *generator) prefix(r *syntax.Relational, p *syntax.Prefix) {
	from := g.take(r.Left)
	reg := from.register()
	of, isValue := p.Of.(*syntax.Value)
	if !isValue {
		g.refuse("a prefix of what is no value")
		return
	}
	order := p.Order
	if order == syntax.NoOrder {
		order = of.Order
	}
	if isText(of) || order == syntax.BigEndian && p.Len > 0 && p.Len%8 == 0 {
		g.load(shortened(r.Left, p.Len), from)
		g.emit(r.Loc, &expr.Cmp{Sreg: reg, Op: cmpOp(r.Op), Data: appendValue(nil, of, of.Order)[:p.Len/8]})
		return
	}
	g.load(r.Left, from)
	size := syntax.Bytes(of.Bits)
	mask := appendNum(nil, ones(p.Len, of.Bits), size, order)
	g.emit(r.Loc, &expr.Bitwise{Sreg: reg, Dreg: reg, Len: size, Mask: mask, Xor: make([]byte, size)})
	g.emit(r.Loc, &expr.Cmp{Sreg: reg, Op: cmpOp(r.Op), Data: appendValue(nil, of, of.Order)})
}

// shortened is an expression of fewer bits. Only what is loaded of a packet's bytes is loaded shorter.
func shortened(e syntax.Expr, bits int) syntax.Expr {
	p, isPayload := e.(*syntax.Payload)
	if !isPayload {
		return e
	}
	short := *p
	short.Bits = bits
	return &short
}
