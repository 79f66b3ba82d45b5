package packetsim

import (
	"encoding/binary"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftPicked is a drawn number and its look-up.
type nftPicked struct {
	*expr.Numgen
	lookup *expr.Lookup
}

// mostChoices is up to how many drawn numbers what a map has for them is kept with the rule.
const mostChoices = 1024

// nftChoices are what a map without a name, which nobody changes, has for each drawn number.
type nftChoices struct {
	of []nftChoice
}

// nftChoice is the element of a number; nil: there is none. What it has for it is in data, if that is short.
type nftChoice struct {
	element *nftables.Element
	data    [24]byte
	size    uint8 // of data; 0: it is the element's
}

// pick draws a number and looks it up.
func (t *nftWalk) pick(op *nftOp) {
	x := op.x.(*nftPicked)
	choices := op.choices.Load()
	if choices == nil {
		if choices = t.newChoices(op, x); choices == nil {
			if t.err == nil {
				t.numgen(x.Numgen)
				t.lookup(op, x.lookup)
			}
			return
		}
	}
	c := &choices.of[drawOneOf(t.chance, uint32(len(choices.of)))]
	switch {
	case c.element == nil:
		t.code = expr.Break
	case c.size > 0:
		t.regs.put(x.lookup.Dreg.Offset(), c.data[:c.size])
	default:
		t.found(x.lookup, c.element)
	}
}

// newChoices are the choices of a map; nil if it may change, or the walk has failed.
func (t *nftWalk) newChoices(op *nftOp, x *nftPicked) *nftChoices {
	const constant = nftables.SetAnonymous | nftables.SetConstant
	set := t.setOf(op, x.lookup, x.lookup.Set)
	if set == nil || set.Flags&constant != constant || set.KeyLen != 4 {
		return nil
	}
	choices := &nftChoices{of: make([]nftChoice, x.Modulus)}
	for i := range choices.of {
		c := &choices.of[i]
		c.element = set.Find(binary.LittleEndian.AppendUint32(nil, uint32(i)+x.Offset), time.Time{})
		if e := c.element; e != nil && e.Data != nil && e.Data.Verdict == nil && len(e.Exprs) == 0 && len(e.Data.Bytes) <= len(c.data) {
			c.size = uint8(copy(c.data[:], e.Data.Bytes))
		}
	}
	op.choices.Store(choices)
	return choices
}
