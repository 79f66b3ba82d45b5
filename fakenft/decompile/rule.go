package decompile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// rule is a rule on its way back to statements.
type rule struct {
	d *Decompiler
	// regs are what each register of four bytes was given, where that begins.
	regs [expr.RegisterBytes / 4]syntax.Expr
	// stmts are the statements so far; nil is one that was left out.
	stmts []syntax.Stmt
	context
}

// decompile makes the statements of expressions.
func (r *rule) decompile(d *Decompiler, exprs []expr.Expr) []syntax.Stmt {
	r.d = d
	r.regs = [expr.RegisterBytes / 4]syntax.Expr{}
	r.stmts = r.stmts[:0]
	r.context.reset(d.family)
	for _, e := range exprs {
		r.step(e)
	}
	count := 0
	for _, s := range r.stmts {
		if s != nil {
			count++
		}
	}
	list := make([]syntax.Stmt, 0, count)
	for _, s := range r.stmts {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// slot is the index of a register.
func slot(reg expr.Register) int { return reg.Offset() / 4 }

func (r *rule) set(reg expr.Register, e syntax.Expr) {
	if reg != expr.RegVerdict && slot(reg) < len(r.regs) {
		r.regs[slot(reg)] = e
	}
}

// get is a copy of what a register holds; a raw value of no bits if nothing is known of it.
func (r *rule) get(reg expr.Register) syntax.Expr {
	if reg == expr.RegVerdict || slot(reg) >= len(r.regs) || r.regs[slot(reg)] == nil {
		return raw(nil)
	}
	return syntax.Clone(r.regs[slot(reg)])
}

// key is what registers hold that a set of keys of so many bytes is asked with: a concatenation if the first of them has fewer.
func (r *rule) key(reg expr.Register, size int) syntax.Expr {
	first := r.get(reg)
	if bitsOf(first) >= 8*size || bitsOf(first) == 0 {
		return first
	}
	c := &syntax.Concat{Parts: []syntax.Expr{first}}
	at := slot(reg) + syntax.Padded(bitsOf(first))/32
	for left := 8*size - syntax.Padded(bitsOf(first)); left > 0 && at < len(r.regs); {
		part := r.regs[at]
		if part == nil || bitsOf(part) == 0 {
			break
		}
		c.Parts = append(c.Parts, syntax.Clone(part))
		left -= syntax.Padded(bitsOf(part))
		at += syntax.Padded(bitsOf(part)) / 32
	}
	return c
}

func bitsOf(e syntax.Expr) int {
	if c, isConcat := e.(*syntax.Concat); isConcat {
		bits := 0
		for _, part := range c.Parts {
			bits += syntax.Padded(bitsOf(part))
		}
		return bits
	}
	return e.Info().Bits
}

// emit appends a statement and returns where. What does something must not happen to other packets, so that later matches imply none before
// it.
func (r *rule) emit(s syntax.Stmt) int {
	r.stmts = append(r.stmts, s)
	switch s.(type) {
	case *syntax.Match:
	case *syntax.VerdictStmt:
		r.last = 0
	default:
		r.last = 0
		r.needs = [layers + 1]int{}
		r.icmpNeed, r.icmpLast = 0, false
	}
	return len(r.stmts) - 1
}

func (r *rule) step(e expr.Expr) {
	switch e := e.(type) {
	case *expr.Immediate:
		if v := e.Data.Verdict; v != nil {
			r.emit(r.d.verdictStmt(v))
			return
		}
		r.set(e.Dreg, raw(e.Data.Bytes))
	case *expr.Cmp:
		r.compare(e)
	case *expr.Range:
		op := syntax.OpEq
		if e.Op == expr.Neq {
			op = syntax.OpNeq
		}
		r.match(&syntax.Relational{Op: op, Left: r.get(e.Sreg), Right: &syntax.Range{Min: raw(e.From), Max: raw(e.To)}})
	case *expr.Lookup:
		r.lookUp(e)
	case *expr.Bitwise:
		r.set(e.Dreg, bitwise(r.get(e.Sreg), e))
	case *expr.Byteorder:
		of := r.get(e.Sreg)
		r.set(e.Dreg, &syntax.Unary{Common: *of.Info(), ToHost: e.ToHost, Of: of})
	case *expr.Payload:
		if e.Writes {
			r.setPayload(e)
			return
		}
		r.set(e.Dreg, rawPayload(e.Base, int(e.Offset)*8, int(e.Len)*8))
	case *expr.Meta:
		if e.Writes {
			r.setMeta(e)
			return
		}
		t, bits, order := syntax.MetaType(e.Key)
		r.set(e.Dreg, &syntax.Meta{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Key: e.Key})
	case *expr.CT:
		if e.Writes {
			r.setCT(e)
			return
		}
		r.set(e.Dreg, ct(e))
	default:
		if !r.rarer(e) {
			r.act(e)
		}
	}
}

// rarer is a step that loads something, which is not met in each rule.
func (r *rule) rarer(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Exthdr:
		if e.Writes {
			field := exthdr(e)
			value := r.get(e.Sreg)
			value = r.post(value)
			settle(value, field.Type, field.Order)
			r.emit(&syntax.SetExthdr{Field: field, Value: value})
			break
		}
		if e.Dreg == 0 {
			option := exthdr(e)
			if headers := exthdrHeaders(e); len(headers) > 0 {
				option.Header, option.Field = headers[0], nil
			}
			r.emit(&syntax.OptStrip{Option: option})
			break
		}
		r.set(e.Dreg, exthdr(e))
	case *expr.RT:
		t, bits, order := syntax.RTType(e.Key)
		r.set(e.Dreg, withFamily(&syntax.RT{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Key: e.Key}))
	case *expr.Socket:
		t, bits, order := syntax.SocketType(e.Key)
		r.set(e.Dreg, &syntax.Socket{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Key: e.Key, Level: e.Level})
	case *expr.Osf:
		r.set(e.Dreg, &syntax.Osf{
			Common: syntax.Common{Type: syntax.TypeString, Order: syntax.HostOrder, Bits: 128}, TTL: e.TTL, Version: e.Flags&1 != 0,
		})
	case *expr.XFRM:
		x := &syntax.XFRM{Key: e.Key, SPNum: e.SPNum, Dir: e.Dir}
		if k := syntax.XFRMKeyOf(e.Key); k != nil {
			x.Common = syntax.Common{Type: k.Type, Order: k.Order, Bits: k.Bits}
		}
		r.set(e.Dreg, x)
	case *expr.Fib:
		t, bits, order := syntax.FibType(e.Result, e.Flags)
		r.set(e.Dreg, &syntax.Fib{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Flags: e.Flags, Result: e.Result})
	case *expr.Numgen:
		r.set(e.Dreg, &syntax.Numgen{
			Common: syntax.Common{Type: syntax.TypeInteger, Order: syntax.HostOrder, Bits: 32},
			Random: e.Random, Modulus: e.Modulus, Offset: e.Offset,
		})
	case *expr.Hash:
		h := &syntax.Hash{
			Common:    syntax.Common{Type: syntax.TypeInteger, Order: syntax.HostOrder, Bits: 32},
			Symmetric: e.Symmetric, Modulus: e.Modulus, Offset: e.Offset, Seed: e.Seed, HasSeed: e.HasSeed,
		}
		if !e.Symmetric {
			h.Of = r.key(e.Sreg, e.Len)
		}
		r.set(e.Dreg, h)
	default:
		return false
	}
	return true
}

// verdictStmt is a verdict; one that leads to a chain without a name has the chain's rules.
func (d *Decompiler) verdictStmt(v *expr.Verdict) syntax.Stmt {
	if v.Code != expr.Jump && v.Code != expr.Goto {
		return &syntax.VerdictStmt{Expr: verdict(v)}
	}
	spec, rules := d.source.Chain(v.Chain)
	if spec == nil || spec.Flags&nftables.ChainBinding == 0 {
		return &syntax.VerdictStmt{Expr: verdict(v)}
	}
	chain := d.Chain(spec, 0)
	inner := &Decompiler{source: d.source, family: d.family, table: d.table, now: d.now, sets: d.sets, filled: d.filled}
	chain.Rules = inner.Rules(rules, spec.Name)
	return &syntax.ChainStmt{Code: v.Code, Chain: chain}
}

// withFamily is something of the route with the family of the address that it is.
func withFamily(rt *syntax.RT) *syntax.RT {
	switch rt.Key {
	case syntax.RTNexthop4:
		rt.NFProto = nfprotoIPv4
	case syntax.RTNexthop6:
		rt.NFProto = nfprotoIPv6
	}
	return rt
}

func verdict(v *expr.Verdict) *syntax.Verdict {
	e := &syntax.Verdict{Common: syntax.Common{Type: syntax.TypeVerdict}, Code: v.Code}
	if v.Chain != "" {
		e.Chain = &syntax.Symbol{Value: syntax.Value{Text: v.Chain}}
	}
	return e
}

func ct(e *expr.CT) *syntax.CT {
	t, bits, order := syntax.CTType(e.Key)
	c := &syntax.CT{Common: syntax.Common{Type: t, Order: order, Bits: bits}, Key: e.Key, Dir: e.Dir}
	if e.Key == expr.CTL3Protocol || e.Key == expr.CTProtocol {
		c.Dir = nil // the kernel takes a direction for these and does not give it back (nft_ct_get_dump)
	}
	return c
}

// bitwise is a mask, bits to flip and bits to set, of what the kernel does with a mask and bits to flip alone.
func bitwise(of syntax.Expr, e *expr.Bitwise) syntax.Expr {
	common := syntax.Common{Bits: 8 * e.Len}
	if of.Info().Bits > 0 {
		common = *of.Info()
	}
	if e.Op != expr.Bool {
		op := syntax.OpLeft
		if e.Op == expr.RightShift {
			op = syntax.OpRight
		}
		by := &syntax.Value{
			Common: syntax.Common{Type: syntax.TypeInteger, Order: syntax.HostOrder, Bits: 32}, Num: syntax.Num{Lo: uint64(e.Shift)},
		}
		return &syntax.Binop{Common: common, Op: op, Left: of, Right: by}
	}
	mask, flip, set := number(e.Mask), number(e.Xor), syntax.Num{}
	full := allOnes(8 * e.Len)
	if mask != full || !flip.IsZero() {
		set = mask.And(flip).Xor(flip)
		flip = flip.And(mask)
		mask = mask.Or(set)
	}
	result := of
	operate := func(op syntax.BinaryOp, n syntax.Num) {
		right := &syntax.Value{Common: syntax.Common{Bits: 8 * e.Len}, Num: n}
		result = &syntax.Binop{Common: common, Op: op, Left: result, Right: right}
	}
	if mask != full {
		operate(syntax.OpAnd, mask)
	}
	if !flip.IsZero() {
		operate(syntax.OpXor, flip)
	}
	if !set.IsZero() {
		operate(syntax.OpOr, set)
	}
	return result
}

func (r *rule) compare(e *expr.Cmp) {
	if int(e.Op) >= len(relOps) {
		r.emit(&syntax.OpaqueStmt{Kind: e.Name()})
		return
	}
	left := r.get(e.Sreg)
	value := raw(e.Data)
	var right syntax.Expr = value
	if size := bitsOf(left); size > value.Bits && !left.Info().Type.Is(syntax.TypeString) {
		length := value.Bits
		value.Num = value.Num.Left(uint(size - length))
		value.Bits = size
		right = &syntax.Prefix{Common: syntax.Common{Bits: size}, Of: value, Len: length}
	}
	r.match(&syntax.Relational{Op: relOps[e.Op], Left: left, Right: right})
}

var relOps = [...]syntax.RelOp{
	expr.Eq: syntax.OpEq, expr.Neq: syntax.OpNeq, expr.Lt: syntax.OpLt, expr.Lte: syntax.OpLte, expr.Gt: syntax.OpGt, expr.Gte: syntax.OpGte,
}

// lookUp asks a set, or loads what a map has.
func (r *rule) lookUp(e *expr.Lookup) {
	decl := r.d.inRule(e.Set)
	if decl == nil {
		r.emit(&syntax.OpaqueStmt{Kind: e.Name()})
		return
	}
	key := r.key(e.Sreg, decl.keySize)
	ref := &syntax.SetRef{Name: e.Set, Set: decl.SetDecl}
	if !e.Map {
		op := syntax.OpEq
		if e.Invert {
			op = syntax.OpNeq
		}
		r.match(&syntax.Relational{Op: op, Left: key, Right: ref})
		return
	}
	m := &syntax.Map{Key: key, Mappings: ref}
	if decl.Data != nil {
		m.Common = *decl.Data.Info()
		if m.Bits == 0 {
			m.Bits = 8 * decl.dataSize
		}
	}
	if e.Dreg != expr.RegVerdict {
		r.set(e.Dreg, m)
		return
	}
	m.Key = r.postKey(m)
	r.emit(&syntax.VerdictStmt{Expr: m})
}
