package packetsim

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftDrawn is a comparison with a drawn number, which holds with the probability part/of.
type nftDrawn struct {
	expr.Expr // the random number
	part, of  uint64
}

// compileDraw makes one draw of a random number and a comparison with it, where nobody else asks for the number. It says of how many
// expressions it is; 0: of none.
func (op *nftOp) compileDraw(exprs []expr.Expr) int {
	first, of, dreg := randomOf(exprs[0])
	if of == 0 {
		return 0
	}
	used, swapped := 1, false
	if len(exprs) > used {
		if b, is := exprs[used].(*expr.Bitwise); is && b.Op == expr.Bool && b.Sreg == dreg && b.Dreg == dreg && isZero(b.Xor) {
			mask := uint64(word(b.Mask))
			if of != 1<<32 || mask&(mask+1) != 0 {
				return 0
			}
			of = mask + 1
			used++
		}
	}
	if len(exprs) > used {
		if b, is := exprs[used].(*expr.Byteorder); is && !b.ToHost && b.Sreg == dreg && b.Dreg == dreg && b.Len == 4 && b.Size == 4 {
			swapped = true
			used++
		}
	}
	var c *expr.Cmp
	if len(exprs) > used {
		c, _ = exprs[used].(*expr.Cmp)
	}
	if c == nil || c.Sreg != dreg || len(c.Data) != 4 || !swapped && c.Op > expr.Neq || readLater(exprs[used+1:], dreg) {
		return op.compileNumber(exprs, dreg)
	}
	want := uint64(binary.LittleEndian.Uint32(c.Data))
	if swapped {
		want = uint64(binary.BigEndian.Uint32(c.Data))
	}
	op.kind, op.x = nftDraw, &nftDrawn{exprs[0], numbersThat(c.Op, first, first+of, want), of}
	return used + 1
}

// mostNumbers is up to how many numbers are drawn one by one.
const mostNumbers = 1 << 12

// compileNumber makes one draw of the packet's random number and a mask, behind which few numbers are left.
func (op *nftOp) compileNumber(exprs []expr.Expr, dreg expr.Register) int {
	if _, is := exprs[0].(*expr.Meta); !is || len(exprs) < 2 {
		return 0
	}
	b, is := exprs[1].(*expr.Bitwise)
	if !is || b.Sreg != dreg || b.Dreg != dreg || b.Op != expr.Bool || b.Len != 4 || !isZero(b.Xor) {
		return 0
	}
	mask := word(b.Mask)
	if mask&(mask+1) != 0 || mask >= mostNumbers {
		return 0
	}
	op.kind, op.x = nftExpr, &expr.Numgen{Random: true, Modulus: mask + 1, Dreg: dreg}
	return 2
}

// randomOf is the first of so many random numbers, one of which an expression loads; none if of is 0.
func randomOf(x expr.Expr) (first, of uint64, dreg expr.Register) {
	switch x := x.(type) {
	case *expr.Numgen:
		if x.Random && uint64(x.Offset)+uint64(x.Modulus) <= 1<<32 {
			return uint64(x.Offset), uint64(x.Modulus), x.Dreg
		}
	case *expr.Meta:
		if x.Key == expr.MetaPRandom && !x.Writes {
			return 0, math.MaxUint32 + 1, x.Dreg
		}
	}
	return 0, 0, 0
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
