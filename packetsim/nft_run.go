package packetsim

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// rule runs the operations of the rule that is looked at.
func (t *nftWalk) rule() {
	x := t.at.program
	r := &x.rules[t.at.next]
	t.code, t.to, t.element, t.rejected, t.looked = expr.Continue, nil, nil, nil, t.looked[:0]
	if t.regs.tainted || !t.quiet() {
		t.rest(r, 0)
		return
	}
	if x.endpoint.of > 0 {
		if t.toEndpoint(&x.endpoint) {
			return
		}
	} else if r.endpoint != nil && t.toEndpoint(r.endpoint) {
		return
	}
	if r.early != nil && t.fails(r.early) {
		t.code = expr.Break
		return
	}
	if r.ahead {
		next := x.rules[t.at.next+1].ops
		t.touch(next[:next[0].gather+1])
	}
	for i := 0; i < len(r.ops) && t.code == expr.Continue; i++ {
		op := &r.ops[i]
		switch {
		case op.gather > 0 && t.gather(r.ops[i:i+int(op.gather)+1]):
			i += int(op.gather)
		case op.kind <= nftLoad:
			have, ok := t.field(op.field)
			if !ok {
				t.rest(r, i)
				return
			}
			have &= op.mask
			t.regs.set4(op.dreg, have)
			if op.kind == nftTest && ((have^op.want)&op.xor == 0) == op.not {
				t.code = expr.Break
			}
		case op.kind == nftBitwise:
			t.regs.set4(op.dreg, t.regs.get4(op.sreg)&op.mask^op.xor)
		case op.kind == nftMark:
			t.setMark(op.sreg)
		case op.kind == nftVerdict:
			t.op = i
			t.verdict(op)
		default:
			t.rest(r, i)
			return
		}
	}
}

// fails says that a test of a field does not hold, and changes nothing.
func (t *nftWalk) fails(op *nftOp) bool {
	have, ok := t.field(op.field)
	return ok && ((have&op.mask^op.want)&op.xor == 0) == op.not
}

// rest runs the operations of a rule from one on, each by itself. What is told of the walk needs the one at which it ended.
func (t *nftWalk) rest(r *nftRule, first int) {
	for i := first; i < len(r.ops); i++ {
		t.op = i
		if t.runOp(&r.ops[i]); t.code != expr.Continue || t.err != nil {
			break
		}
	}
	if t.err != nil {
		t.notKnown(r)
	}
}

// expr is the first expression of an operation of the rule that is looked at.
func (t *nftRun) expr(op *nftOp) expr.Expr { return t.at.program.rules[t.at.next].rule.Exprs[op.from] }

// runOp runs an operation. What does not hold sets the code to Break.
func (t *nftRun) runOp(op *nftOp) {
	switch op.kind {
	case nftTest:
		t.test(op)
	case nftLoad:
		t.load(op)
	case nftCompare:
		c := t.expr(op).(*expr.Cmp)
		t.compare(c.Sreg.Offset(), c.Op, c.Data)
	case nftBitwise:
		t.bitwise4(op)
	case nftVerdict:
		t.verdict(op)
	case nftLookup:
		t.lookup(op)
	case nftPick:
		t.pick(op)
	case nftMark:
		t.setMark(op.sreg)
	case nftNAT:
		t.natTo(op)
	case nftMasq:
		t.masquerade(t.expr(op).(*expr.Masq))
	case nftDraw:
		t.draw(op)
	case nftBits:
		t.drawBits(op)
	default:
		t.runExpr(t.expr(op))
	}
}

// test is a test of a field, of which not all may be known.
func (t *nftRun) test(op *nftOp) {
	if !t.load(op) {
		return
	}
	have := t.regs.get4(op.dreg)
	if op.mask != ^uint32(0) {
		have &= op.mask
		t.mask(int(op.dreg), op.mask)
		t.regs.set4(op.dreg, have)
	}
	if t.regs.tainted && !t.regs.knows(int(op.dreg), 4) {
		c := t.at.program.rules[t.at.next].rule.Exprs[op.end-1].(*expr.Cmp)
		t.compare(int(op.dreg), c.Op, c.Data)
		return
	}
	if ((have^op.want)&op.xor == 0) == op.not {
		t.code = expr.Break
	}
}

// verdict is a verdict of the rule's own. A jump that led to a chain of this table before leads there again.
func (t *nftRun) verdict(op *nftOp) {
	t.code = expr.Code(int32(op.want))
	if t.code != expr.Jump && t.code != expr.Goto {
		return
	}
	if to := op.to.Load(); to != nil && to.table.Load() == t.base.table {
		t.to = to
		return
	}
	t.chain = t.expr(op).(*expr.Immediate).Data.Verdict.Chain
}

// runExpr runs an expression, whether it is one of a rule, of an element or an object. This is the list of those that are walked.
func (t *nftRun) runExpr(x expr.Expr) {
	t.view.has = 0 // it may change the packet
	switch x := x.(type) {
	case *expr.Immediate:
		t.regs.put(x.Dreg.Offset(), x.Data.Bytes)
	case *expr.Payload:
		if x.Writes {
			t.writePayload(x)
		} else {
			t.loadPayload(x)
		}
	case *expr.Meta:
		if x.Writes {
			t.setMeta(x)
		} else {
			t.loadMeta(x)
		}
	case *expr.CT:
		if x.Writes {
			t.setCT(x)
		} else {
			t.loadCT(x)
		}
	case *expr.Cmp:
		t.compare(x.Sreg.Offset(), x.Op, x.Data)
	case *expr.Range:
		t.inRange(x)
	case *expr.Bitwise:
		t.bitwise(x)
	case *expr.Byteorder:
		t.byteorder(x)
	case *expr.Fib:
		t.fib(x)
	case *expr.RT:
		t.route(x)
	case *expr.Exthdr:
		t.exthdr(x)
	case *expr.Dynset:
		t.dynset(x)
	case *expr.Objref:
		t.objref(x)
	case *expr.Numgen:
		t.numgen(x)
	case *expr.Hash:
		t.hash(x)
	case *expr.Log, *expr.Last:
	case *expr.Counter, *expr.Limit, *expr.Quota, *expr.Connlimit:
		t.stateful(x)
	default:
		t.runEnd(x)
	}
}

// runEnd is runExpr for what a rule ends with.
func (t *nftRun) runEnd(x expr.Expr) {
	switch x := x.(type) {
	case *expr.Reject:
		t.code, t.rejected = expr.Drop, x
	case *expr.NAT:
		t.nat(x)
	case *expr.Masq:
		t.masquerade(x)
	case *expr.Redir:
		t.redirect(x)
	case *expr.Notrack:
		notrack(t.s)
	default:
		t.notWalked(x, "")
	}
}

// compare is cmp (net/netfilter/nft_cmp.c). What is not known matters only if the bytes before it are equal.
func (t *nftMachine) compare(at int, op expr.CmpOp, data []byte) {
	have := t.regs.bytes(at, len(data))
	order := bytes.Compare(have, data)
	if t.regs.tainted && !t.decides(at, op, data) {
		return
	}
	if !compares(order, op) {
		t.code = expr.Break
	}
}

// decides says whether a comparison has an answer although some bits may not be known; if not, the walk has failed.
func (t *nftMachine) decides(at int, op expr.CmpOp, data []byte) bool {
	ordered := op > expr.Neq
	for i, want := range data {
		have, unknown := t.regs.data[at+i], t.regs.unknown[at+i]
		switch {
		case unknown == 0 && have == want:
		case unknown == 0 && ordered:
			return true
		case !ordered && (have^want)&^unknown != 0:
			return true
		case unknown != 0 && ordered:
			t.fail(errRegisterUnknown)
			return false
		}
	}
	if !ordered && !t.regs.knows(at, len(data)) {
		t.fail(errRegisterUnknown)
		return false
	}
	return true
}

func compares(order int, op expr.CmpOp) bool {
	switch op {
	case expr.Eq:
		return order == 0
	case expr.Neq:
		return order != 0
	case expr.Lt:
		return order < 0
	case expr.Lte:
		return order <= 0
	case expr.Gt:
		return order > 0
	}
	return order >= 0
}

// inRange is range (net/netfilter/nft_range.c).
func (t *nftMachine) inRange(x *expr.Range) {
	at := x.Sreg.Offset()
	if !t.regs.knows(at, len(x.From)) {
		t.fail(errRegisterUnknown)
		return
	}
	have := t.regs.bytes(at, len(x.From))
	inside := bytes.Compare(have, x.From) >= 0 && bytes.Compare(have, x.To) <= 0
	if inside != (x.Op == expr.Eq) {
		t.code = expr.Break
	}
}

// mask keeps what is not known behind a mask of four bytes.
func (t *nftMachine) mask(at int, mask uint32) {
	if t.regs.tainted {
		binary.LittleEndian.PutUint32(t.regs.unknown[at:], binary.LittleEndian.Uint32(t.regs.unknown[at:])&mask)
	}
}

// bitwise4 is bitwise of four bytes.
func (t *nftMachine) bitwise4(op *nftOp) {
	value := t.regs.get4(op.sreg)
	t.regs.set4(op.dreg, value&op.mask^op.xor)
	if t.regs.tainted {
		copy(t.regs.unknown[op.dreg:op.dreg+4], t.regs.unknown[op.sreg:op.sreg+4])
		t.mask(int(op.dreg), op.mask)
	}
}

// bitwise is bitwise of any length (net/netfilter/nft_bitwise.c).
func (t *nftMachine) bitwise(x *expr.Bitwise) {
	from, to, n := x.Sreg.Offset(), x.Dreg.Offset(), padded(x.Len)
	for _, bytes := range [...]*[expr.RegisterBytes]byte{&t.regs.data, &t.regs.unknown} {
		known := bytes == &t.regs.data
		if !known && !t.regs.tainted {
			break
		}
		src := *bytes
		switch {
		case x.Op != expr.Bool:
			shift(bytes[to:to+n], src[from:from+n], x.Op, x.Shift)
		default:
			for i := range n {
				var mask, xor byte
				if i < len(x.Mask) {
					mask = x.Mask[i]
				}
				if i < len(x.Xor) && known {
					xor = x.Xor[i]
				}
				bytes[to+i] = src[from+i]&mask ^ xor
			}
		}
	}
}

// shift shifts words of the host's order, the first of which weighs most.
func shift(to, from []byte, op expr.BitwiseOp, by uint32) {
	var carry uint32
	words := len(from) / 4
	for i := range words {
		at := i * 4
		if op == expr.LeftShift {
			at = (words - 1 - i) * 4
		}
		word := binary.LittleEndian.Uint32(from[at:])
		if op == expr.LeftShift {
			binary.LittleEndian.PutUint32(to[at:], word<<by|carry)
			carry = word >> (32 - by)
		} else {
			binary.LittleEndian.PutUint32(to[at:], word>>by|carry)
			carry = word << (32 - by)
		}
	}
}

// byteorder is byteorder (net/netfilter/nft_byteorder.c): both directions do the same.
func (t *nftMachine) byteorder(x *expr.Byteorder) {
	from, to := x.Sreg.Offset(), x.Dreg.Offset()
	for _, bytes := range [...]*[expr.RegisterBytes]byte{&t.regs.data, &t.regs.unknown} {
		if bytes == &t.regs.unknown && !t.regs.tainted {
			break
		}
		src := *bytes
		size := cmp.Or(x.Size, x.Len)
		for i := 0; i+size <= x.Len; i += size {
			for k := range size {
				bytes[to+i+k] = src[from+i+size-1-k]
			}
		}
	}
}
