package packetsim

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftProgram is a chain of nf_tables as walks read it, kept in the chain's Memo. What a packet to one of many services needs of it is all
// here, since nothing of it is in the processor's cache: two waits for memory, neither of which has to wait for the other one.
type nftProgram struct {
	// table is one that is known to have the chain, so that a jump that led here before leads here again.
	table atomic.Pointer[nftables.Table]
	gone  nftables.Leads // what elements keep whose verdicts go here
	rules []nftRule
	chain *nftables.Chain
	// endpoint is that of the rule of a chain that has one; of is 0 if it does something else.
	endpoint nftEndpoint
	prunes   bool // some rule may be idle
	// live is the chain without its idle rules, in the table that it has; nil: nobody has asked.
	live atomic.Pointer[nftProgram]
}

// nftRule is a rule and what it does.
type nftRule struct {
	ops      []nftOp
	rule     *nftables.Rule
	endpoint *nftEndpoint // nil if it does something else
	early    *nftOp       // a test to begin with, nil for none
	ahead    bool         // the next rule begins with a look-up
}

// nftCompiled is what the Memo of a rule of a long chain has, of which a commit changes few.
type nftCompiled struct{ nftRule }

// longNFTChain is from how many rules on those that a commit has not changed are not compiled again.
const longNFTChain = 32

// nftProgramOf is the program of a chain of a table. Several goroutines may ask at once.
func nftProgramOf(table *nftables.Table, chain *nftables.Chain) *nftProgram {
	if known, _ := chain.Memo.Load().(*nftProgram); known != nil && known.chain == chain {
		return known
	}
	x := newNFTProgram(table, chain)
	chain.Memo.Store(x)
	return x
}

func newNFTProgram(table *nftables.Table, chain *nftables.Chain) *nftProgram {
	var x *nftProgram
	switch n := len(chain.Rules); {
	case n == 1:
		room := &struct {
			nftProgram
			rule [1]nftRule
			ops  [3]nftOp
		}{}
		x, room.rules = &room.nftProgram, room.rule[:]
		room.rule[0] = nftRule{rule: chain.Rules[0], ops: compileNFT(chain.Rules[0].Exprs, room.ops[:])}
		room.rule[0].choose(table, &x.endpoint)
	case n < longNFTChain:
		x = &nftProgram{rules: make([]nftRule, n)}
		room := make([]nftOp, countNFTOpsOf(chain.Rules))
		for i, rule := range chain.Rules {
			x.rules[i] = nftRule{rule: rule, ops: compileNFT(rule.Exprs, room)}
			x.rules[i].choose(table, nil)
			room = room[len(x.rules[i].ops):]
		}
	default:
		x = &nftProgram{rules: make([]nftRule, n)}
		for i, rule := range chain.Rules {
			x.rules[i] = nftOpsOf(table, rule)
		}
	}
	x.chain, x.gone = chain, nftables.Leads{Code: expr.Goto, To: x}
	x.prunes = len(x.rules) < longNFTChain && slices.ContainsFunc(x.rules, nftRule.mayIdle)
	return x
}

// nftOpsOf is a rule of a long chain.
func nftOpsOf(table *nftables.Table, rule *nftables.Rule) nftRule {
	known, _ := rule.Memo.Load().(*nftCompiled)
	if known == nil {
		known = &nftCompiled{nftRule{rule: rule, ops: compileNFT(rule.Exprs, nil)}}
		known.choose(table, nil)
		rule.Memo.Store(known)
	}
	return known.nftRule
}

// countNFTOpsOf is of how many operations rules are.
func countNFTOpsOf(rules []*nftables.Rule) int {
	n := 0
	for _, rule := range rules {
		n += countNFTOps(rule.Exprs)
	}
	return n
}

// nftKind is what an operation does.
type nftKind uint8

const (
	nftTest    nftKind = iota // load a field of four bytes, mask it, compare it
	nftLoad                   // load such a field
	nftCompare                // bytes of registers
	nftBitwise                // four bytes
	nftMark                   // write the packet's mark
	nftVerdict
	nftLookup
	nftDraw // draw whether something holds
	nftBits // draw bits
	nftPick // look a drawn number up
	nftNAT  // to an address and a port
	nftMasq // from any port
	nftExpr // what the expression itself says
)

// nftOp is an operation: an expression, or several that belong together.
type nftOp struct {
	to    atomic.Pointer[nftProgram]
	found atomic.Pointer[nftFound]
	mask  uint32 // of the four bytes, as a little-endian number
	xor   uint32
	want  uint32 // with nftVerdict the code, with nftPick how many numbers there are
	kind  nftKind
	field nftField
	not   bool // what does not hold holds
	maps  bool
	dreg  uint8 // where they begin among the bytes of the registers
	sreg  uint8
	from  uint8 // the expressions of the rule, which has at most 128 of them
	end   uint8
	// gather is, for the first of several loads behind which the look-up of what they load comes, how many they are; else 0.
	gather uint8
}

// nftFound is what a look-up found: a set of a table, or the elements of all numbers that can be drawn, nil where there is none.
type nftFound struct {
	table   *nftables.Table
	set     *nftables.Set
	bare    bool // the elements have no expressions
	choices []*nftables.Element
}

// compileNFT is what expressions do, in the room if that is enough.
func compileNFT(exprs []expr.Expr, room []nftOp) []nftOp {
	ops, n := room, 0
	if countNFTOps(exprs) > len(room) {
		ops = make([]nftOp, countNFTOps(exprs))
	}
	for i := 0; i < len(exprs); n++ {
		op := &ops[n]
		op.from = uint8(i)
		i += op.compileNext(exprs[i:])
		op.end = uint8(i)
	}
	noteGathers(ops[:n])
	return ops[:n]
}

// noteGathers finds the loads of neighbouring registers that the look-up of all of them follows.
func noteGathers(ops []nftOp) {
	for i := range ops {
		if ops[i].kind != nftLookup {
			continue
		}
		for loads := 1; loads <= min(i, mostGathered); loads++ {
			first := ops[i-loads : i]
			if !loadsInOrder(first, ops[i].sreg) {
				continue
			}
			first[0].gather = uint8(loads) // of which only that counts which has as many words as the set's keys
		}
	}
}

// mostGathered is how many words of a key are gathered at most.
const mostGathered = 4

// loadsInOrder says that operations load registers one behind the other.
func loadsInOrder(ops []nftOp, from uint8) bool {
	for i := range ops {
		if ops[i].kind != nftLoad || int(ops[i].dreg) != int(from)+4*i {
			return false
		}
	}
	return true
}

// countNFTOps is of how many operations the expressions are.
func countNFTOps(exprs []expr.Expr) int {
	n := 0
	for len(exprs) > 0 {
		n++
		exprs = exprs[new(nftOp).compileNext(exprs):]
	}
	return n
}

// compileNext makes an operation of the next expressions, and says of how many.
func (op *nftOp) compileNext(exprs []expr.Expr) int {
	for _, several := range [...]func(*nftOp, []expr.Expr) int{(*nftOp).compileTest, (*nftOp).compilePick, (*nftOp).compileDraw} {
		if used := several(op, exprs); used > 0 {
			return used
		}
	}
	op.compile(exprs[0])
	return 1
}

// compileTest makes one operation of a load, a mask and a comparison, or of a load alone, and says of how many expressions; 0: the first
// loads no field.
func (op *nftOp) compileTest(exprs []expr.Expr) int {
	field, dreg := nftFieldOf(exprs[0])
	if field == fieldNone {
		return 0
	}
	op.kind, op.field, op.dreg, op.mask = nftLoad, field, uint8(dreg.Offset()), ^uint32(0)
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
	op.kind, op.mask, op.not, op.want = nftTest, mask, c.Op == expr.Neq, word(c.Data)
	op.xor = uint32(1)<<(8*len(c.Data)) - 1 // the bytes that are compared
	return used + 1
}

// compilePick makes one operation of a drawn number and its look-up.
func (op *nftOp) compilePick(exprs []expr.Expr) int {
	n, is := exprs[0].(*expr.Numgen)
	if !is || !n.Random || n.Modulus > mostChoices || len(exprs) < 2 {
		return 0
	}
	l, is := exprs[1].(*expr.Lookup)
	if !is || !l.Map || l.Invert || l.Sreg != n.Dreg || l.Dreg != n.Dreg && readLater(exprs[2:], n.Dreg) {
		return 0
	}
	op.compile(l)
	op.kind, op.want = nftPick, n.Modulus
	return 2
}

// compile makes an operation of one expression that is no load of a field.
func (op *nftOp) compile(x expr.Expr) {
	op.kind = nftExpr
	switch x := x.(type) {
	case *expr.Cmp:
		op.kind = nftCompare
	case *expr.Bitwise:
		if x.Op == expr.Bool && x.Len <= 4 {
			op.kind, op.sreg, op.dreg = nftBitwise, uint8(x.Sreg.Offset()), uint8(x.Dreg.Offset())
			op.mask, op.xor = word(x.Mask), word(x.Xor)
		}
	case *expr.Immediate:
		if x.Dreg == expr.RegVerdict && x.Data.Verdict != nil {
			op.kind, op.want = nftVerdict, uint32(x.Data.Verdict.Code)
		}
	case *expr.Lookup:
		op.kind, op.sreg, op.not, op.maps = nftLookup, uint8(x.Sreg.Offset()), x.Invert, x.Map
		if x.Dreg != expr.RegVerdict {
			op.dreg = uint8(x.Dreg.Offset())
		}
	case *expr.NAT:
		if x.AddrMin != 0 && x.ProtoMin != 0 && isOne(x.AddrMin, x.AddrMax) && isOne(x.ProtoMin, x.ProtoMax) &&
			x.Flags&^(expr.NATMapIPs|expr.NATProtoSpecified) == 0 && !x.Source {
			op.kind, op.field = nftNAT, nftField(x.Family)
			op.sreg, op.dreg = uint8(x.AddrMin.Offset()), uint8(x.ProtoMin.Offset())
		}
	case *expr.Meta:
		if x.Writes && x.Key == expr.MetaMark {
			op.kind, op.sreg = nftMark, uint8(x.Sreg.Offset())
		}
	case *expr.Masq:
		if x.ProtoMin == 0 {
			op.kind = nftMasq
		}
	}
}

// isOne says that a range, which may have no end, is of one value.
func isOne(low, high expr.Register) bool { return high == 0 || high == low }

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
	for first > 0 && r.loads(&r.ops[first-1]) {
		first--
	}
	return int(r.ops[first].from), int(r.ops[op].end)
}

// loads says whether an operation of the rule only fills registers.
func (r *nftRule) loads(op *nftOp) bool {
	switch op.kind {
	case nftLoad, nftBitwise:
		return true
	case nftExpr:
	default:
		return false
	}
	switch x := r.rule.Exprs[op.from].(type) {
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
