package packetsim

import (
	"errors"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// notKnown is a rule of which an operation cannot be run: one that has no meaning here, or that asks for what is not known of the packet.
// The rule does not hold if something behind that does not hold; what a packet meets that all the rest lets through is an error, or a
// guess.
func (t *nftWalk) notKnown(r *nftRule) {
	at := &r.ops[t.op]
	t.blame()
	var e *ExpressionError
	if !errors.As(t.err, &e) {
		return
	}
	if t.missesBehind(r, at) {
		t.err, t.code = nil, expr.Break
		return
	}
	opaque := &OpaqueError{Host: e.Host, Extension: strings.TrimPrefix(e.Expression, notSupported), Table: e.Table, Chain: e.Chain,
		Number: slices.Index(t.at.program.chain.Rules, r.rule) + 1, Native: e}
	if t.told&guess == 0 {
		t.err = opaque
		return
	}
	t.err, t.code = nil, expr.Continue
	holds, fails := AnswerMatches, AnswerDiffers
	if !r.loads(at) && !r.tests(at) {
		holds, fails = AnswerGoesOn, AnswerDecides
	}
	switch answer := t.guesses(opaque, holds, fails); {
	case answer == AnswerDiffers:
		t.code = expr.Break
	case answer == AnswerDecides:
		t.undecided()
	default:
		t.assume(r, at)
	}
}

// notSupported begins the text of an expression that has no meaning here.
const notSupported = "not supported: "

// guesses draws one of two answers of a rule that is not known, and tells it.
func (t *nftWalk) guesses(e *OpaqueError, yes, no RuleAnswer) RuleAnswer {
	look := &RuleLook{Family: e.Native.Family, Table: e.Table, Chain: e.Chain, Handle: e.Native.Handle, Number: e.Number,
		Extension: e.Extension, Answer: no, Rule: *t.values.of(t, t.at.program.rules[t.at.next].rule)}
	if t.chance.Draw(certain / answersPerRule) {
		look.Answer = yes
	}
	t.tell(Event{Kind: EventOpaque, Rule: look})
	return look.Answer
}

// undecided ends the packet's way with a verdict that is not known.
func (t *nftRun) undecided() {
	t.code, t.outcome.Verdict, t.outcome.To = expr.Drop, Unknown, ToNone
}

// missesBehind says whether something that stands behind an operation does not hold for the packet, whatever the operation gives. It looks
// no further than the first expression that changes something: whether it does so is not known.
func (t *nftRun) missesBehind(r *nftRule, at *nftOp) bool {
	regs, looked, element, to, code, failed := t.regs, t.looked, t.element, t.to, t.code, t.err
	defer func() { t.regs, t.looked, t.element, t.to, t.code, t.err = regs, looked, element, to, code, failed }()
	t.err, t.code = nil, expr.Continue
	t.taintAfter(r.rule.Exprs[at.from])
	for i := int(at.end); i < len(r.rule.Exprs); i++ {
		x := r.rule.Exprs[i]
		switch {
		case leavesNothing(x):
			t.taintAfter(x)
			continue
		case !readsOnly(x):
			return false
		}
		t.runAlone(x, i)
		if t.err != nil {
			t.err = nil
			t.taintAfter(x)
			continue
		}
		if t.code == expr.Break {
			return true
		}
		t.code = expr.Continue
	}
	return false
}

// assume runs what stands behind an operation that was taken to hold. What cannot be run there is taken to hold as well if it only reads;
// otherwise nobody can say what becomes of the packet.
func (t *nftRun) assume(r *nftRule, at *nftOp) {
	t.taintAfter(r.rule.Exprs[at.from])
	t.op = len(r.ops) - 1 // that of the verdict, if there is one
	for i := int(at.end); i < len(r.rule.Exprs); i++ {
		x := r.rule.Exprs[i]
		t.runAlone(x, i)
		switch {
		case t.err != nil && readsOnly(x):
			t.err = nil
			t.taintAfter(x)
		case t.err != nil:
			t.err = nil
			t.undecided()
			return
		case t.code != expr.Continue:
			return
		}
	}
}

// runAlone runs one expression of the rule that is looked at.
func (t *nftRun) runAlone(x expr.Expr, place int) {
	op := nftOp{from: uint8(place), end: uint8(place + 1)}
	op.compile(x)
	t.runOp(&op)
}

// taintAfter makes the registers unknown that an expression should have filled.
func (t *nftRun) taintAfter(x expr.Expr) {
	var dreg expr.Register
	switch x := x.(type) {
	case *expr.Lookup:
		dreg = x.Dreg
	case *expr.Bitwise:
		dreg = x.Dreg
	case *expr.Byteorder:
		dreg = x.Dreg
	case *expr.Socket, *expr.Osf, *expr.XFRM, *expr.Opaque:
		dreg = expr.Reg1 // what they fill is not told apart: all registers from the first one on
	default:
		_, dreg = conditionName(x)
	}
	if dreg == expr.RegVerdict {
		return
	}
	all := make([]byte, expr.RegisterBytes-dreg.Offset())
	for i := range all {
		all[i] = 0xff
	}
	if n := 16; dreg != expr.Reg1 || len(all) < n {
		all = all[:min(n, len(all))]
	}
	t.regs.taint(dreg.Offset(), all)
}

// tests says whether an operation of the rule only compares.
func (r *nftRule) tests(op *nftOp) bool {
	switch op.kind {
	case nftTest, nftCompare, nftLookup, nftDraw, nftBits, nftPick:
		return true
	case nftExpr:
		return readsOnly(r.rule.Exprs[op.from])
	}
	return false
}

// leavesNothing says whether an expression draws a number, or is only heard of, and changes nothing that a packet may meet.
func leavesNothing(x expr.Expr) bool {
	switch x := x.(type) {
	case *expr.Numgen:
		return x.Random
	case *expr.Meta:
		return !x.Writes && x.Key == expr.MetaPRandom
	case *expr.Log:
		return true
	}
	return false
}

// readsOnly says whether an expression changes nothing but registers, and nothing of the host.
func readsOnly(x expr.Expr) bool {
	switch x := x.(type) {
	case *expr.Payload:
		return !x.Writes
	case *expr.Meta:
		return !x.Writes && x.Key != expr.MetaPRandom
	case *expr.CT:
		return !x.Writes
	case *expr.Exthdr:
		return !x.Writes
	case *expr.Lookup:
		return x.Dreg != expr.RegVerdict || !x.Map
	case *expr.Immediate:
		return x.Dreg != expr.RegVerdict
	case *expr.Cmp, *expr.Range, *expr.Bitwise, *expr.Byteorder, *expr.Hash, *expr.Fib, *expr.RT, *expr.Socket, *expr.Osf, *expr.XFRM:
		return true
	}
	return false
}
