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
	if quick := op.quick.Load(); quick != nil && !t.tells() {
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
	const constant = nftables.SetAnonymous | nftables.SetConstant
	n, set := t.expr(op).(*expr.Numgen), t.setOf(t.lookupOf(op), t.lookupOf(op).Set)
	if set == nil || set.Flags&constant != constant || set.KeyLen != 4 {
		return nil
	}
	found := &nftFound{choices: make([]*nftables.Element, n.Modulus)}
	for i := range found.choices {
		found.choices[i] = set.Find(binary.LittleEndian.AppendUint32(nil, uint32(i)+n.Offset), time.Time{})
	}
	if quick := newNFTQuick(found.choices, set.DataLen); quick != nil {
		op.quick.Store(quick)
	}
	op.found.Store(found)
	return found
}

// newNFTQuick is nil if there are many choices, or one that has something else or nothing.
func newNFTQuick(choices []*nftables.Element, size uint32) *nftQuick {
	quick := &nftQuick{}
	if len(choices) > len(quick) || size <= 4 || size > 8 {
		return nil
	}
	for i, e := range choices {
		if e == nil || e.Data == nil || e.Data.Verdict != nil || len(e.Exprs) > 0 {
			return nil
		}
		var eight [8]byte
		copy(eight[:], e.Data.Bytes)
		quick[i] = binary.LittleEndian.Uint64(eight[:])
	}
	return quick
}
