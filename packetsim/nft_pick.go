package packetsim

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// mostChoices is up to how many drawn numbers what a map has for them is kept with the rule.
const mostChoices = 1024

// nftEndpoint is a rule as a service's chain has it: packets of one protocol go to one of a few endpoints of IPv4 that is drawn.
type nftEndpoint struct {
	// choices are what a map without a name, which nobody changes, has for each of the drawn numbers.
	choices [8]nftChoice
	proto   uint8
	of      uint8 // them; 0: it does something else
}

// nftChoice is an address and a port.
type nftChoice struct {
	addr [4]byte
	port [2]byte
}

// toEndpoint is a rule that translates to an endpoint. It is false, and nothing has been done, if its operations are to be run.
func (t *nftRun) toEndpoint(x *nftEndpoint) bool {
	proto, ok := t.field(fieldL4Proto)
	if !ok || t.s.Is6() {
		return false
	}
	if proto != uint32(x.proto) {
		t.code = expr.Break
		return true
	}
	to := &x.choices[drawOneOf(t.chance, uint32(x.of))%uint32(len(x.choices))]
	t.bound(t.targets.dnatTo(t.s.conn, netip.AddrFrom4(to.addr), binary.BigEndian.Uint16(to.port[:])))
	return true
}

// pick draws a number and looks it up.
func (t *nftRun) pick(op *nftOp) {
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

// choose finds out whether the rule translates to endpoints that are drawn, for which there may be room.
func (r *nftRule) choose(table *nftables.Table, room *nftEndpoint) {
	if len(r.ops) != 3 {
		return
	}
	test, pick, nat := &r.ops[0], &r.ops[1], &r.ops[2]
	if test.kind != nftTest || test.field != fieldL4Proto || test.not || test.mask&test.xor != 0xff || pick.kind != nftPick ||
		test.want > 0xff || nat.kind != nftNAT || nat.field != ipv4Family || nat.sreg != pick.dreg || nat.dreg != pick.dreg+4 {
		return
	}
	n, set := r.rule.Exprs[pick.from].(*expr.Numgen), table.Set(r.rule.Exprs[pick.end-1].(*expr.Lookup).Set)
	if room == nil {
		room = &nftEndpoint{}
	}
	if isConstantChoice(set) && room.fill(set, n) {
		room.proto, room.of, r.endpoint = uint8(test.want), uint8(n.Modulus), room
	}
}

// fill fills in the choices. It is false if there are many, or if one has something else or nothing.
func (x *nftEndpoint) fill(set *nftables.Set, n *expr.Numgen) bool {
	if int(n.Modulus) > len(x.choices) || set.DataLen <= 4 || set.DataLen > 8 {
		return false
	}
	for i := range n.Modulus {
		e := choiceOf(set, n, i)
		if e == nil || e.Data == nil || e.Data.Verdict != nil || len(e.Exprs) > 0 {
			return false
		}
		to := &x.choices[i]
		copy(to.port[:], e.Data.Bytes[copy(to.addr[:], e.Data.Bytes):])
	}
	return true
}
