package packetsim

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// compileDraw makes one draw of a random number and a comparison with it, where nobody else asks for the number. It says of how many
// expressions it is; 0: of none.
func (op *nftOp) compileDraw(exprs []expr.Expr) int {
	switch x := exprs[0].(type) {
	case *expr.Numgen:
		if x.Random && uint64(x.Offset)+uint64(x.Modulus) <= 1<<32 {
			return op.compileNumgen(x, exprs)
		}
	case *expr.Meta:
		if x.Key == expr.MetaPRandom && !x.Writes {
			return op.compileRandom(x, exprs)
		}
	}
	return 0
}

// compileNumgen makes a draw of numgen random.
func (op *nftOp) compileNumgen(x *expr.Numgen, exprs []expr.Expr) int {
	used, swapped := 1, false
	if len(exprs) > used {
		if b, is := exprs[used].(*expr.Byteorder); is && !b.ToHost && b.Sreg == x.Dreg && b.Dreg == x.Dreg && b.Len == 4 && b.Size == 4 {
			swapped = true
			used++
		}
	}
	c := comparesOnce(exprs, used, x.Dreg)
	if c == nil || !swapped && c.Op > expr.Neq {
		return 0
	}
	want := uint64(binary.LittleEndian.Uint32(c.Data))
	if swapped {
		want = uint64(binary.BigEndian.Uint32(c.Data))
	}
	first, of := uint64(x.Offset), uint64(x.Modulus)
	op.draws(numbersThat(c.Op, first, first+of, want), of)
	return used + 1
}

// mostBits is up to how many random bits are drawn one by one.
const mostBits = 12

// compileRandom makes a draw of meta random, of whose bits a mask leaves some.
func (op *nftOp) compileRandom(x *expr.Meta, exprs []expr.Expr) int {
	mask, used := ^uint32(0), 1
	if len(exprs) > used {
		if b, is := exprs[used].(*expr.Bitwise); is && b.Op == expr.Bool && b.Len == 4 && b.Sreg == x.Dreg && b.Dreg == x.Dreg && isZero(b.Xor) {
			mask = binary.BigEndian.Uint32(b.Mask)
			used++
		}
	}
	c, of := comparesOnce(exprs, used, x.Dreg), uint64(1)<<bits.OnesCount32(mask)
	switch {
	case c != nil && c.Op <= expr.Neq:
		var part uint64
		if binary.BigEndian.Uint32(c.Data)&^mask == 0 {
			part = 1
		}
		if c.Op == expr.Neq {
			part = of - part
		}
		op.draws(part, of)
		return used + 1
	case c != nil && mask&(mask+1) == 0:
		op.draws(numbersThat(c.Op, 0, of, uint64(binary.BigEndian.Uint32(c.Data))), of)
		return used + 1
	case of <= 1<<mostBits:
		op.kind, op.mask, op.dreg = nftBits, mask, uint8(x.Dreg.Offset())
		return used
	}
	return 0
}

// comparesOnce is the comparison of the register by the expression of that number, if it is the last that asks for it.
func comparesOnce(exprs []expr.Expr, at int, dreg expr.Register) *expr.Cmp {
	if at >= len(exprs) {
		return nil
	}
	if c, is := exprs[at].(*expr.Cmp); is && c.Sreg == dreg && len(c.Data) == 4 && !readLater(exprs[at+1:], dreg) {
		return c
	}
	return nil
}

// draws makes a draw that holds with the probability part/of, both of at most 32 bits and one more.
func (op *nftOp) draws(part, of uint64) {
	op.kind, op.want, op.mask = nftDraw, uint32(part), uint32(of-1)
	if part == of {
		op.want, op.not = 0, true
	}
}

// draw is such a draw.
func (t *nftMachine) draw(op *nftOp) {
	if drawPart(t.chance, uint64(op.want), uint64(op.mask)+1) == op.not {
		t.code = expr.Break
	}
}

// drawBits draws the bits of a mask.
func (t *nftMachine) drawBits(op *nftOp) {
	drawn, value := drawOneOf(t.chance, 1<<bits.OnesCount32(op.mask)), uint32(0)
	for mask := op.mask; mask != 0; mask &= mask - 1 {
		if drawn&1 != 0 {
			value |= mask & -mask
		}
		drawn >>= 1
	}
	t.regs.put4(op.dreg, bits.ReverseBytes32(value))
}

// numbersThat is how many numbers from first on and below end compare so with want.
func numbersThat(op expr.CmpOp, first, end, want uint64) uint64 {
	below := min(max(want, first), end) - first
	upTo := min(max(want+1, first), end) - first
	switch op {
	case expr.Eq:
		return upTo - below
	case expr.Neq:
		return end - first - (upTo - below)
	case expr.Lt:
		return below
	case expr.Lte:
		return upTo
	case expr.Gt:
		return end - first - upTo
	}
	return end - first - below
}

// readLater says whether an expression may read a register before another one fills it.
func readLater(exprs []expr.Expr, r expr.Register) bool {
	at := r.Offset()
	for _, x := range exprs {
		from, writes, known := registersOf(x)
		switch {
		case !known:
			return true
		case slices.ContainsFunc(from, func(s expr.Register) bool { return s != 0 && s.Offset() <= at }):
			return true // of a key nobody knows here how long it is
		case writes != 0 && writes.Offset() == at:
			return false
		}
	}
	return false
}

// registersOf are the registers that an expression reads from, and the one that it fills; 0: none.
func registersOf(x expr.Expr) (from []expr.Register, to expr.Register, known bool) {
	switch x := x.(type) {
	case *expr.Cmp:
		return []expr.Register{x.Sreg}, 0, true
	case *expr.Range:
		return []expr.Register{x.Sreg}, 0, true
	case *expr.Bitwise:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.Byteorder:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.Lookup:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.Dynset:
		return []expr.Register{x.Key, x.Data}, 0, true
	case *expr.Hash:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.NAT:
		return []expr.Register{x.AddrMin, x.AddrMax, x.ProtoMin, x.ProtoMax}, 0, true
	case *expr.Masq:
		return []expr.Register{x.ProtoMin, x.ProtoMax}, 0, true
	case *expr.Redir:
		return []expr.Register{x.ProtoMin, x.ProtoMax}, 0, true
	case *expr.Objref:
		return []expr.Register{x.Sreg}, 0, true
	case *expr.Payload:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.Meta:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.CT:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.Exthdr:
		return []expr.Register{x.Sreg}, x.Dreg, true
	case *expr.Immediate:
		return nil, x.Dreg, true
	case *expr.Fib:
		return nil, x.Dreg, true
	case *expr.RT:
		return nil, x.Dreg, true
	case *expr.Numgen:
		return nil, x.Dreg, true
	case *expr.Counter, *expr.Log, *expr.Limit, *expr.Quota, *expr.Reject, *expr.Last, *expr.Connlimit, *expr.Notrack:
		return nil, 0, true
	}
	return nil, 0, false
}
