package packetsim

import (
	"encoding/binary"
	"math"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftDrawn is a comparison with a drawn number, which holds with the probability part/of.
type nftDrawn struct {
	expr.Expr // the comparison
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
	if len(exprs) == used {
		return 0
	}
	c, is := exprs[used].(*expr.Cmp)
	if !is || c.Sreg != dreg || len(c.Data) != 4 || !swapped && c.Op > expr.Neq || readLater(exprs[used+1:], dreg) {
		return 0
	}
	want := uint64(binary.LittleEndian.Uint32(c.Data))
	if swapped {
		want = uint64(binary.BigEndian.Uint32(c.Data))
	}
	op.kind, op.x = nftDraw, &nftDrawn{c, numbersThat(c.Op, first, first+of, want), of}
	return used + 1
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
	for _, x := range exprs {
		switch x := x.(type) {
		case *expr.Cmp:
			if x.Sreg == r {
				return true
			}
		case *expr.Payload:
			if x.Writes {
				return true
			}
			if x.Dreg == r {
				return false
			}
		case *expr.Meta:
			if x.Writes {
				return true
			}
			if x.Dreg == r {
				return false
			}
		case *expr.CT:
			if x.Writes {
				return true
			}
			if x.Dreg == r {
				return false
			}
		case *expr.Fib, *expr.Counter, *expr.Log, *expr.Limit, *expr.Quota, *expr.Immediate, *expr.Reject, *expr.Last, *expr.Connlimit:
		default:
			return true
		}
	}
	return false
}
