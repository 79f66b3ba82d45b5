package nftables

import (
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Overlay is the sets of a kernel as packets have left them, which nobody else sees: what packets add and delete lies over the kernel, or
// over another overlay, until Commit writes it there. Dropping it undoes all of that. It is not safe for concurrent use, but the kernel
// may be used meanwhile. Counters of elements are their expressions' own: who walks packets counts them as those of rules.
type Overlay struct {
	kernel  *Kernel
	below   *Overlay
	frozen  bool
	changed map[*setID]*overlaid
}

// overlaid is what an overlay has of one set.
type overlaid struct {
	table    uint64 // handles
	set      *Set
	elements map[string]*Element // nil for one that was deleted
	more     int                 // elements than below
}

// Overlay is a new one over the kernel.
func (k *Kernel) Overlay() *Overlay { return &Overlay{kernel: k} }

// Overlay is a new one over this one, which must not be changed before the new one is committed or dropped.
func (o *Overlay) Overlay() *Overlay { return &Overlay{kernel: o.kernel, below: o, frozen: o.frozen} }

// Freeze keeps everybody from changing the kernel until thaw is called. All overlays over the one that it gives see the same sets. That one
// cannot be committed.
func (k *Kernel) Freeze() (frozen *Overlay, thaw func()) {
	k.lock.RLock()
	return &Overlay{kernel: k, frozen: true}, k.lock.RUnlock
}

// DynsetElement is what a packet puts into a set.
type DynsetElement struct {
	Key, Data []byte // Data: of a map
	Timeout   time.Duration
	Exprs     []expr.Expr // patterns of what the element gets
}

// Find is the live element that a packet's key meets; nil if there is none.
func (o *Overlay) Find(s *Set, key []byte) *Element { panic("soon") }

// Put adds an element, or finds the one of its key, whose life begins again if refresh is set (NFT_DYNSET_OP_UPDATE). It is nil if the set
// is full: then the rule does not go on. The element's expressions are to be run by the packet, whether it is new or not.
func (o *Overlay) Put(t *Table, s *Set, e DynsetElement, refresh bool) *Element { panic("soon") }

// Delete takes an element out (NFT_DYNSET_OP_DELETE).
func (o *Overlay) Delete(t *Table, s *Set, key []byte) { panic("soon") }

// Commit writes the changes to what lies below, and the overlay is empty then.
func (o *Overlay) Commit() { panic("soon") }
