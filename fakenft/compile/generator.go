package compile

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// slot is a register of four bytes, counted from 0; verdict is that of verdicts.
type slot int

const verdict slot = -1

// register is the number of a slot's register.
func (s slot) register() expr.Register {
	if s == verdict {
		return expr.RegVerdict
	}
	return expr.RegisterAt(int(s) * 4)
}

// slots is how many registers of four bytes so many bits need.
func slots(bits int) slot { return slot(syntax.Padded(bits) / 32) }

// generator makes the expressions of one rule.
type generator struct {
	exprs []expr.Expr
	// places are where each was written, if they are wanted.
	places     []syntax.Loc
	wantPlaces bool
	// free is the first register that is not in use.
	free slot
	// sets are the anonymous sets that the rule looks something up in.
	sets []anonymousSet
	// chains are those without a name that the rule leads to.
	chains []*syntax.ChainDecl
	err    error
	mapped dataRoom
}

// anonymousSet is a set that is written in a rule, and what is looked up in it.
type anonymousSet struct {
	*syntax.SetDecl
	key syntax.Expr
}

// emit appends an expression, which comes from a place.
func (g *generator) emit(at syntax.Loc, e expr.Expr) {
	g.exprs = append(g.exprs, e)
	if g.wantPlaces {
		g.places = append(g.places, at)
	}
}

// refuse notes what cannot be compiled; the first one is told.
func (g *generator) refuse(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("chainwalk does not support "+format, args...)
	}
}

const wholeRegister = 16 * 8

// take takes registers for an expression; the caller gives g.free back as it was.
func (g *generator) take(e syntax.Expr) slot {
	bits := wholeRegister
	if c, isConcat := e.(*syntax.Concat); isConcat {
		bits = concatBits(c)
	}
	return g.takeBits(bits)
}

func (g *generator) takeBits(bits int) slot {
	s := g.free
	g.free += slots(bits)
	if g.free > expr.RegisterBytes/4 {
		g.refuse("expressions that need more than %d bytes of registers", expr.RegisterBytes)
		g.free = s
	}
	return s
}

func concatBits(c *syntax.Concat) (bits int) {
	for _, part := range c.Parts {
		bits += syntax.Padded(bitsOf(part))
	}
	return bits
}

// bitsOf is the size of an expression's value.
func bitsOf(e syntax.Expr) int {
	if c, isConcat := e.(*syntax.Concat); isConcat {
		return concatBits(c)
	}
	common := e.Info()
	if common.Bits == 0 && common.Type != nil {
		return common.Type.Bits
	}
	return common.Bits
}

// load loads an expression's value into a register, or carries out its verdict.
func (g *generator) load(e syntax.Expr, to slot) {
	at := e.Info().Loc
	reg := to.register()
	switch e := e.(type) {
	case *syntax.Verdict:
		g.verdict(e)
	case *syntax.Value:
		g.emit(at, &expr.Immediate{Dreg: reg, Data: expr.Data{Bytes: appendValue(nil, e, e.Order)}})
	case *syntax.Variable:
		g.load(e.To, to)
	case *syntax.Concat:
		for _, part := range e.Parts {
			g.load(part, to)
			to += slots(bitsOf(part))
		}
	case *syntax.Relational:
		g.relational(e)
	case *syntax.FlagCmp:
		g.flagCmp(e)
	case *syntax.Map:
		g.lookUp(e, to)
	case *syntax.Binop:
		g.binop(e, to)
	case *syntax.Unary:
		g.load(e.Of, to)
		bits := bitsOf(e.Of)
		size := 2
		switch {
		case bits%64 == 0:
			size = 8
		case bits%32 == 0:
			size = 4
		}
		g.emit(at, &expr.Byteorder{Sreg: reg, Dreg: reg, ToHost: e.ToHost, Len: syntax.Bytes(bits), Size: size})
	case *syntax.Hash:
		g.hash(e, to)
	default:
		g.emit(at, g.source(e, reg))
	}
}

// source is the expression that loads what is not made of others.
func (g *generator) source(e syntax.Expr, reg expr.Register) expr.Expr {
	switch e := e.(type) {
	case *syntax.Payload:
		return &expr.Payload{Base: e.Base, Offset: uint32(e.Offset / 8), Len: uint32(syntax.Bytes(bitsOf(e))), Dreg: reg}
	case *syntax.Exthdr:
		return &expr.Exthdr{
			Op: e.Op, Type: e.RawType, Offset: uint32(e.Offset / 8), Len: uint32(syntax.Bytes(bitsOf(e))), Present: e.Present, Dreg: reg,
		}
	case *syntax.Meta:
		return &expr.Meta{Key: e.Key, Dreg: reg}
	case *syntax.CT:
		return &expr.CT{Key: e.Key, Dir: e.Dir, Dreg: reg}
	case *syntax.RT:
		return &expr.RT{Key: e.Key, Dreg: reg}
	case *syntax.Socket:
		return &expr.Socket{Key: e.Key, Level: e.Level, Dreg: reg}
	case *syntax.Osf:
		osf := &expr.Osf{TTL: e.TTL, Dreg: reg}
		if e.Version {
			osf.Flags = 1
		}
		return osf
	case *syntax.XFRM:
		return &expr.XFRM{Key: e.Key, SPNum: e.SPNum, Dir: e.Dir, Dreg: reg}
	case *syntax.Fib:
		return &expr.Fib{Result: e.Result, Flags: e.Flags, Dreg: reg}
	case *syntax.Numgen:
		return &expr.Numgen{Random: e.Random, Modulus: e.Modulus, Offset: e.Offset, Dreg: reg}
	default:
		g.refuse("an expression %T in this place", e)
		return &expr.Notrack{}
	}
}

func (g *generator) hash(e *syntax.Hash, to slot) {
	h := &expr.Hash{
		Symmetric: e.Symmetric, Modulus: e.Modulus, Offset: e.Offset, Seed: e.Seed, HasSeed: e.HasSeed, Dreg: to.register(),
	}
	if !e.Symmetric {
		held := g.free
		from := g.take(e.Of)
		g.load(e.Of, from)
		g.free = held
		h.Sreg, h.Len = from.register(), syntax.Bytes(bitsOf(e.Of))
	}
	g.emit(e.Loc, h)
}

func (g *generator) verdict(v *syntax.Verdict) {
	at := v.Loc
	data := &expr.Verdict{Code: v.Code}
	if v.Chain != nil {
		data.Chain = nameOf(v.Chain)
		at = v.Chain.Info().Loc
	}
	g.emit(at, &expr.Immediate{Dreg: expr.RegVerdict, Data: expr.Data{Verdict: data}})
}

// nameOf is the name that an expression is: of a chain, an object or a device.
func nameOf(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Symbol:
		return e.Text
	case *syntax.Value:
		return e.Text
	case *syntax.Variable:
		return nameOf(e.To)
	default:
		return ""
	}
}

// binop computes: bits are masked by one expression of the kernel for all operators that follow each other.
func (g *generator) binop(e *syntax.Binop, to slot) {
	reg, size := to.register(), syntax.Bytes(bitsOf(e))
	if e.Op == syntax.OpLeft || e.Op == syntax.OpRight {
		g.load(e.Left, to)
		op := expr.LeftShift
		if e.Op == syntax.OpRight {
			op = expr.RightShift
		}
		n, _ := g.constant(e.Right)
		g.emit(e.Loc, &expr.Bitwise{Sreg: reg, Dreg: reg, Op: op, Len: size, Shift: uint32(n.Lo)})
		return
	}
	mask, flip := low(bitsOf(e)), syntax.Num{}
	base := g.fold(e, &mask, &flip)
	g.load(base, to)
	order := e.Order
	if order == syntax.NoOrder {
		order = base.Info().Order
	}
	g.emit(e.Loc, &expr.Bitwise{
		Sreg: reg, Dreg: reg, Len: size, Mask: appendNum(nil, mask, size, order), Xor: appendNum(nil, flip, size, order),
	})
}

// fold takes the operators below an expression into a mask and bits to flip, from the innermost on, and returns what they begin with.
func (g *generator) fold(e *syntax.Binop, mask, flip *syntax.Num) syntax.Expr {
	base := e.Left
	if inner, isBinop := e.Left.(*syntax.Binop); isBinop && inner.Op <= syntax.OpXor {
		base = g.fold(inner, mask, flip)
	}
	n, _ := g.constant(e.Right)
	switch e.Op {
	case syntax.OpAnd:
		*mask, *flip = and(*mask, n), and(*flip, n)
	case syntax.OpOr:
		*mask, *flip = and(*mask, not(n)), or(*flip, n)
	default:
		*flip = xor(*flip, n)
	}
	return base
}

// constant is the number that an expression is, also of flags that are joined.
func (g *generator) constant(e syntax.Expr) (n syntax.Num, isConstant bool) {
	switch e := e.(type) {
	case *syntax.Value:
		return e.Num, true
	case *syntax.List:
		for _, item := range e.Items {
			flag, _ := g.constant(item)
			n = or(n, flag)
		}
		return n, true
	case *syntax.Binop:
		left, leftOK := g.constant(e.Left)
		right, rightOK := g.constant(e.Right)
		if !leftOK || !rightOK {
			break
		}
		switch e.Op {
		case syntax.OpAnd:
			return and(left, right), true
		case syntax.OpOr:
			return or(left, right), true
		case syntax.OpXor:
			return xor(left, right), true
		}
	}
	g.refuse("an operator whose right side is no number")
	return n, false
}

// lookUp loads what a map has for a key.
func (g *generator) lookUp(m *syntax.Map, to slot) {
	held := g.free
	from := to
	if to == verdict {
		from = g.take(m.Key)
	}
	g.load(m.Key, from)
	g.free = held
	decl := g.set(m.Mappings, m.Key)
	if decl == nil {
		return
	}
	g.emit(m.Loc, &expr.Lookup{Sreg: from.register(), Set: setName(decl), SetID: decl.ID, Map: true, Dreg: to.register()})
}

// set is the set that an expression refers to and a key is looked up in. An anonymous one is made before the rule.
func (g *generator) set(e, key syntax.Expr) *syntax.SetDecl {
	decl := declOf(e)
	if decl == nil {
		g.refuse("a set without declaration")
		return nil
	}
	if isAnonymous(decl) {
		g.sets = append(g.sets, anonymousSet{decl, key})
	}
	return decl
}
