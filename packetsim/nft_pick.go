package packetsim

import (
	"encoding/binary"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// mostChoices is up to how many drawn numbers what a map has for them is kept with the rule.
const mostChoices = 1024

// nftQuick is what a map without a name, which nobody changes, has for each of a few drawn numbers: five to eight bytes, as an endpoint of
// IPv4 has.
type nftQuick [8]uint64

// pick draws a number and looks it up.
func (t *nftRun) pick(op *nftOp) {
	if quick := op.quick; quick != nil && !t.tells() {
		t.regs.put8(op.dreg, quick[drawOneOf(t.chance, op.want)%uint32(len(quick))])
		return
	}
	found := op.found.Load()
	if found == nil {
		if found = t.newChoices(op); found == nil {
			if t.err == nil {
				t.numgen(t.expr(op).(*expr.Numgen))
				t.lookup(op)
			}
			return
		}
	}
	e := found.choices[drawOneOf(t.chance, op.want)]
	if e == nil {
		t.code = expr.Break
		return
	}
	if t.mapped(op, e); len(e.Exprs) > 0 {
		t.runAll(e.Exprs)
	}
}

// newChoices are the choices of a map; nil if it may change, or the walk has failed.
func (t *nftRun) newChoices(op *nftOp) *nftFound {
	n, set := t.expr(op).(*expr.Numgen), t.setOf(t.lookupOf(op), t.lookupOf(op).Set)
	if !isConstantChoice(set) {
		return nil
	}
	found := &nftFound{choices: make([]*nftables.Element, n.Modulus)}
	for i := range found.choices {
		found.choices[i] = choiceOf(set, n, uint32(i))
	}
	op.found.Store(found)
	return found
}

// isConstantChoice says that a set is one without a name, which nobody changes, and that its keys are numbers.
func isConstantChoice(set *nftables.Set) bool {
	const constant = nftables.SetAnonymous | nftables.SetConstant
	return set != nil && set.Flags&constant == constant && set.KeyLen == 4
}

// choiceOf is what a set has for a number that is drawn; nil for nothing.
func choiceOf(set *nftables.Set, n *expr.Numgen, drawn uint32) *nftables.Element {
	var key [4]byte
	binary.LittleEndian.PutUint32(key[:], drawn+n.Offset)
	return set.Find(key[:], time.Time{})
}

// choose gives the rule's operations that pick one of a few choices what they pick from. The first has the room for it, if there is any.
func (r *nftRule) choose(table *nftables.Table, room *nftQuick) {
	for i := range r.ops {
		op := &r.ops[i]
		if op.kind != nftPick {
			continue
		}
		n, set := r.rule.Exprs[op.from].(*expr.Numgen), table.Set(r.rule.Exprs[op.end-1].(*expr.Lookup).Set)
		if room == nil {
			room = &nftQuick{}
		}
		if isConstantChoice(set) && room.fill(set, n) {
			op.quick, room = room, nil
		}
	}
}

// fill fills in the choices. It is false if there are many, or if one has something else or nothing.
func (q *nftQuick) fill(set *nftables.Set, n *expr.Numgen) bool {
	if int(n.Modulus) > len(q) || set.DataLen <= 4 || set.DataLen > 8 {
		return false
	}
	for i := range n.Modulus {
		e := choiceOf(set, n, i)
		if e == nil || e.Data == nil || e.Data.Verdict != nil || len(e.Exprs) > 0 {
			return false
		}
		var eight [8]byte
		copy(eight[:], e.Data.Bytes)
		q[i] = binary.LittleEndian.Uint64(eight[:])
	}
	return true
}
