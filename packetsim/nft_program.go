package packetsim

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftProgram is a chain of nf_tables as walks read it, kept in the chain's Memo.
type nftProgram struct {
	// table is one that is known to have the chain, so that a jump that led here before leads here again.
	table atomic.Pointer[nftables.Table]
	chain *nftables.Chain
	rules []nftRule
}

// nftRule is a rule and what it does, which is kept in its Memo.
type nftRule struct {
	rule *nftables.Rule
	ops  []nftOp
}

// nftCompiled is what the Memo of a rule has.
type nftCompiled struct{ ops []nftOp }

// nftProgramOf is the chain's program. Several goroutines may ask at once.
func nftProgramOf(chain *nftables.Chain) *nftProgram {
	if known, _ := chain.Memo.Load().(*nftProgram); known != nil && known.chain == chain {
		return known
	}
	x := &nftProgram{chain: chain, rules: make([]nftRule, len(chain.Rules))}
	for i, rule := range chain.Rules {
		x.rules[i] = nftRule{rule, nftOpsOf(rule)}
	}
	chain.Memo.Store(x)
	return x
}

func nftOpsOf(rule *nftables.Rule) []nftOp {
	if known, _ := rule.Memo.Load().(*nftCompiled); known != nil {
		return known.ops
	}
	c := &nftCompiled{ops: compileNFT(rule.Exprs)}
	rule.Memo.Store(c)
	return c.ops
}

// nftKind is what an operation does.
type nftKind uint8

const (
	nftTest    nftKind = iota // load a field of four bytes, mask it, compare it
	nftLoad                   // load such a field
	nftCompare                // bytes of registers
	nftBitwise                // four bytes
	nftVerdict
	nftLookup
	nftDraw // load a drawn number, mask it, compare it
	nftExpr // what the expression itself says
)

// nftOp is an operation: an expression, or several that belong together.
type nftOp struct {
	x          expr.Expr // the first of them
	to         atomic.Pointer[nftProgram]
	set        atomic.Pointer[nftSetAt]
	data       []byte
	mask, want uint32 // of the four bytes, as a little-endian number
	xor        uint32
	kind       nftKind
	field      nftField
	cmp        expr.CmpOp
	dreg, sreg uint8 // where they begin among the bytes of the registers
	from, end  uint8 // the expressions of the rule
}

// nftSetAt is a set that a name led to in a table.
type nftSetAt struct {
	table *nftables.Table
	set   *nftables.Set
}

// compileNFT is what expressions do.
func compileNFT(exprs []expr.Expr) []nftOp {
	ops, n := make([]nftOp, len(exprs)), 0
	for i := 0; i < len(exprs); n++ {
		op := &ops[n]
		used := op.compileTest(exprs[i:])
		if used == 0 {
			used = op.compileDraw(exprs[i:])
		}
		if used == 0 {
			op.compile(exprs[i])
			used = 1
		}
		op.from = uint8(min(i, 255))
		i += used
		op.end = uint8(min(i, 255))
	}
	return ops[:n]
}

// compileTest makes one operation of a load, a mask and a comparison, or of a load alone, and says of how many expressions; 0: the first
// loads no field.
func (op *nftOp) compileTest(exprs []expr.Expr) int {
	field, dreg := nftFieldOf(exprs[0])
	if field == fieldNone {
		return 0
	}
	op.kind, op.x, op.field, op.dreg, op.mask = nftLoad, exprs[0], field, uint8(dreg.Offset()), ^uint32(0)
	used := 1
	mask := op.mask
	if len(exprs) > used {
		if b, is := exprs[used].(*expr.Bitwise); is && b.Op == expr.Bool && b.Sreg == dreg && b.Dreg == dreg && b.Len <= 4 && isZero(b.Xor) {
			mask = word(b.Mask)
			used++
		}
	}
	if len(exprs) == used {
		return 1
	}
	c, is := exprs[used].(*expr.Cmp)
	if !is || c.Sreg != dreg || len(c.Data) > 4 || c.Op > expr.Neq {
		return 1
	}
	op.kind, op.mask, op.cmp, op.want, op.data = nftTest, mask, c.Op, word(c.Data), c.Data
	op.xor = word(bytes.Repeat([]byte{0xff}, len(c.Data))) // the bytes that are compared
	return used + 1
}

// compile makes an operation of one expression that is no load of a field.
func (op *nftOp) compile(x expr.Expr) {
	op.kind, op.x = nftExpr, x
	switch x := x.(type) {
	case *expr.Cmp:
		op.kind, op.sreg, op.cmp, op.data = nftCompare, uint8(x.Sreg.Offset()), x.Op, x.Data
	case *expr.Bitwise:
		if x.Op == expr.Bool && x.Len <= 4 {
			op.kind, op.sreg, op.dreg = nftBitwise, uint8(x.Sreg.Offset()), uint8(x.Dreg.Offset())
			op.mask, op.xor = word(x.Mask), word(x.Xor)
		}
	case *expr.Immediate:
		if x.Dreg == expr.RegVerdict && x.Data.Verdict != nil {
			op.kind = nftVerdict
		}
	case *expr.Lookup:
		op.kind, op.sreg = nftLookup, uint8(x.Sreg.Offset())
	}
}

// word is up to four bytes as a little-endian number.
func word(b []byte) uint32 {
	var four [4]byte
	copy(four[:], b)
	return binary.LittleEndian.Uint32(four[:])
}

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// testOf are the expressions that an operation of the rule tests: from the first load behind the test before it.
func (r *nftRule) testOf(op int) (from, to int) {
	first := op
	for first > 0 && r.ops[first-1].loads() {
		first--
	}
	return int(r.ops[first].from), int(r.ops[op].end)
}

// loads says whether the operation only fills registers.
func (op *nftOp) loads() bool {
	switch op.kind {
	case nftLoad, nftBitwise:
		return true
	case nftExpr:
	default:
		return false
	}
	switch x := op.x.(type) {
	case *expr.Payload:
		return !x.Writes
	case *expr.Meta:
		return !x.Writes
	case *expr.CT:
		return !x.Writes
	case *expr.Exthdr:
		return !x.Writes
	case *expr.Bitwise, *expr.Byteorder, *expr.Fib, *expr.RT, *expr.Socket, *expr.Numgen, *expr.Hash, *expr.Immediate, *expr.Osf, *expr.XFRM:
		return true
	}
	return false
}
