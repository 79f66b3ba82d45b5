package packetsim

import (
	"bytes"
	"time"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// setOf is a set of the table by its name; nil if there is none, which ends the walk.
func (t *nftRun) setOf(x expr.Expr, name string) *nftables.Set {
	set := t.base.table.Set(name)
	if set == nil {
		t.notWalked(x, "set "+name+" is not there")
	}
	return set
}

// key is what the registers from one on hold for a set; nil if it is not known.
func (t *nftRun) key(set *nftables.Set, at int) []byte {
	if !t.regs.knows(at, int(set.KeyLen)) {
		t.fail(errRegisterUnknown)
		return nil
	}
	return t.regs.bytes(at, int(set.KeyLen))
}

// meets is the element that the registers from one on meet. What is not known of them matters only if an element agrees with the rest.
func (t *nftRun) meets(set *nftables.Set, at int) *nftables.Element {
	n := int(set.KeyLen)
	if t.regs.knows(at, n) {
		return t.targets.memory.nftSets.find(set, t.regs.bytes(at, n))
	}
	if set.Flags&setChanges == 0 {
		if e, ok := set.FindUnknown(t.regs.bytes(at, n), t.regs.unknown[at:at+n]); ok {
			return e
		}
	}
	t.fail(errRegisterUnknown)
	return nil
}

// lookupOf is the look-up that an operation ends with.
func (t *nftRun) lookupOf(op *nftOp) *expr.Lookup {
	return t.at.program.rules[t.at.next].rule.Exprs[op.end-1].(*expr.Lookup)
}

// lookup is lookup (net/netfilter/nft_lookup.c).
func (t *nftRun) lookup(op *nftOp) {
	in := t.foundBy(op)
	if in == nil {
		return
	}
	var e *nftables.Element
	if t.regs.tainted {
		if e = t.meets(in.set, int(op.sreg)); t.err != nil {
			return
		}
	} else {
		key := t.regs.data[op.sreg:][:in.set.KeyLen]
		if sets := &t.targets.memory.nftSets; in.bare && len(sets.layers) == 0 {
			e = in.set.Find(key, time.Time{})
		} else {
			e = sets.find(in.set, key)
		}
	}
	switch {
	case (e != nil) == op.not:
		t.code = expr.Break
	case e == nil:
	case in.bare:
		t.mapped(op, e)
	default:
		if t.mapped(op, e); len(e.Exprs) > 0 {
			t.runAll(e.Exprs)
		}
	}
}

// foundBy is the set of a look-up; nil if there is none, which ends the walk. A look-up that found its set in this table before finds it
// again.
func (t *nftRun) foundBy(op *nftOp) *nftFound {
	if in := op.found.Load(); in != nil && in.table == t.base.table {
		return in
	}
	x := t.lookupOf(op)
	set := t.setOf(x, x.Set)
	if set == nil {
		return nil
	}
	in := &nftFound{table: t.base.table, set: set, bare: isBare(set)}
	op.found.Store(in)
	return in
}

// gather is loads of whole fields and the look-up of what they have loaded, the last of the operations, at once. It is false, and nothing
// but registers that the loads fill has changed, if they are to be run one by one.
func (t *nftRun) gather(ops []nftOp) bool {
	loads, op := ops[:len(ops)-1], &ops[len(ops)-1]
	in := op.found.Load()
	if in == nil || in.table != t.base.table || !in.bare || int(in.set.KeyLen) != 4*len(loads) || len(t.targets.memory.nftSets.layers) > 0 {
		return false
	}
	var words [4]uint32
	for i := range loads {
		word, ok := t.field(loads[i].field)
		if !ok {
			return false
		}
		words[i&3] = word
		t.regs.set4(loads[i].dreg, word)
	}
	k, key := nftables.KeyOfWords(&words, len(loads)), t.regs.data[op.sreg:][:4*len(loads)]
	if !op.maps {
		if in.set.HasKey(k, key) == op.not {
			t.code = expr.Break
		}
		return true
	}
	e, beside := in.set.FindKey(k, key)
	switch {
	case (e != nil) == op.not:
		t.code = expr.Break
	case e == nil:
	case beside == nil || !t.follows(beside.Load(), e):
		if t.mapped(op, e); beside != nil && t.to != nil {
			beside.Store(e.Leads.Load())
		}
	}
	return true
}

// touch asks for the memory of what gather will look at for the same operations, so that a packet waits once for this and what it looks at
// before.
func (t *nftRun) touch(ops []nftOp) {
	loads, op := ops[:len(ops)-1], &ops[len(ops)-1]
	in := op.found.Load()
	if in == nil {
		return
	}
	var words [4]uint32
	for i := range loads {
		word, ok := t.field(loads[i].field)
		if !ok {
			return
		}
		words[i&3] = word
	}
	t.touched = in.set.Touch(nftables.KeyOfWords(&words, len(loads)))
}

// follows takes the way that an element's verdict led before. It is false if that is not known for this table.
func (t *nftRun) follows(leads *nftables.Leads, e *nftables.Element) bool {
	if leads == nil {
		return false
	}
	to := leads.To.(*nftProgram)
	if to.table.Load() != t.base.table {
		return false
	}
	t.code, t.to, t.element = leads.Code, to, e
	return true
}

// isBare says that the elements of a set have no expressions.
func isBare(set *nftables.Set) bool {
	return len(set.Exprs) == 0 && set.Flags&setChanges == 0 && !set.Counts()
}

// mapped is what the element that a look-up found maps to, if it is one in a map.
func (t *nftRun) mapped(op *nftOp, e *nftables.Element) {
	if t.tells() {
		t.looked = append(t.looked, nftLooked{t.lookupOf(op).Set, e})
	}
	if !op.maps {
		return
	}
	switch {
	case t.follows(e.Leads.Load(), e):
	case e.Data == nil:
	case e.Data.Verdict != nil:
		t.code, t.chain, t.element = e.Data.Verdict.Code, e.Data.Verdict.Chain, e
	default:
		t.regs.put(int(op.dreg), e.Data.Bytes)
	}
}

// runAll runs what an element has of its own.
func (t *nftRun) runAll(exprs []expr.Expr) {
	for _, x := range exprs {
		before := t.code
		t.code = expr.Continue
		if t.runExpr(x); t.code != expr.Continue || t.err != nil {
			return
		}
		t.code = before
	}
}

// dynset is dynset (net/netfilter/nft_dynset.c): the packet adds an element, or makes its life begin again, or takes it out. The rule ends
// if the set is full.
func (t *nftRun) dynset(x *expr.Dynset) {
	set := t.setOf(x, x.Set)
	if set == nil {
		return
	}
	key := t.key(set, x.Key.Offset())
	if key == nil {
		return
	}
	sets := t.targets.memory.nftSets.now()
	if x.Op == expr.DynsetDelete {
		sets.Delete(t.base.table, set, key)
		return
	}
	e := nftables.DynsetElement{Key: bytes.Clone(key), Timeout: x.Timeout, Exprs: x.Exprs}
	if len(e.Exprs) == 0 {
		e.Exprs = set.Exprs
	}
	if x.HasData {
		e.Data = bytes.Clone(t.regs.bytes(x.Data.Offset(), int(set.DataLen)))
	}
	element := sets.Put(t.base.table, set, e, x.Op == expr.DynsetUpdate)
	if element != nil {
		t.runAll(element.Exprs)
	}
	if (element != nil) == x.Invert {
		t.code = expr.Break
	}
}

// objref is objref (net/netfilter/nft_objref.c): what an object of the table does, whose name is in the rule or in a map.
func (t *nftRun) objref(x *expr.Objref) {
	kind, name := x.Type, x.Object
	if x.Set != "" {
		set := t.setOf(x, x.Set)
		if set == nil {
			return
		}
		e := t.meets(set, x.Sreg.Offset())
		if e == nil {
			t.code = expr.Break
			return
		}
		kind, name = set.ObjectType, e.Object
	}
	object := t.base.table.Object(kind, name)
	if object == nil {
		t.notWalked(x, "object "+name+" is not there")
		return
	}
	switch kind {
	case expr.ObjectCounter, expr.ObjectQuota, expr.ObjectLimit, expr.ObjectConnlimit:
		t.stateful(object.Value)
	case expr.ObjectSecmark:
	default:
		t.notWalked(x, objectNames[kind]+" "+name)
	}
}

var objectNames = map[expr.ObjectType]string{expr.ObjectCTHelper: "ct helper", expr.ObjectTunnel: "tunnel",
	expr.ObjectCTTimeout: "ct timeout", expr.ObjectCTExpect: "ct expectation", expr.ObjectSynproxy: "synproxy"}

// nftSets are the sets of nf_tables. Others use them too, so what packets change of them lies over them in overlays, as with those of
// ipset (rememberedSets).
type nftSets struct {
	memory *memory
	layers []nftLayer

	freezes bool // a look that is under way sees what packets change as it found it first
	frozen  *nftables.Overlay
	thaw    func()
}

// nftLayer is the sets under the checkpoint of that depth.
type nftLayer struct {
	depth int
	sets  *nftables.Overlay
}

func (r *nftSets) begin(m *memory) { r.memory = m }

func (r *nftSets) kernel() *nftables.Kernel { return nftables.In(r.memory.namespace) }

func (r *nftSets) speller() nftables.Speller {
	if k := r.kernel(); k != nil {
		return k.Speller()
	}
	return nil
}

// setChanges are the flags of sets whose elements packets change, or time does.
const setChanges = nftables.SetEval | nftables.SetTimeout

// find is the element that a key meets as the innermost checkpoint sees it; nil if there is none.
func (r *nftSets) find(set *nftables.Set, key []byte) *nftables.Element {
	if last := len(r.layers) - 1; last >= 0 {
		return r.layers[last].sets.Find(set, key)
	}
	var now time.Time
	if set.Flags&setChanges != 0 {
		if r.freezes {
			return r.freezer().Find(set, key)
		}
		now = r.kernel().Clock().Now()
	}
	return set.Find(key, now)
}

// freezer keeps the sets as they are until release.
func (r *nftSets) freezer() *nftables.Overlay {
	if r.frozen == nil {
		r.frozen, r.thaw = r.kernel().Freeze()
	}
	return r.frozen
}

// now is the sets as the innermost checkpoint sees them, to be changed.
func (r *nftSets) now() *nftables.Overlay {
	last := len(r.layers) - 1
	if last >= 0 && r.layers[last].depth == r.memory.depth {
		return r.layers[last].sets
	}
	var sets *nftables.Overlay
	switch {
	case last >= 0:
		sets = r.layers[last].sets.Overlay()
	case r.freezes:
		sets = r.freezer().Overlay()
	default:
		sets = r.kernel().Overlay()
	}
	r.layers = append(r.layers, nftLayer{r.memory.depth, sets})
	r.memory.layers++
	return sets
}

func (r *nftSets) freeze() { r.freezes = true }

func (r *nftSets) release() {
	r.freezes = false
	if r.frozen != nil {
		r.thaw()
		r.frozen, r.thaw = nil, nil
	}
}

func (r *nftSets) keep(depth int) {
	last := len(r.layers) - 1
	switch {
	case last < 0 || r.layers[last].depth < depth:
	case depth == 1 || last > 0 && r.layers[last-1].depth == depth-1:
		r.layers[last].sets.Commit()
		r.pop()
	default:
		r.layers[last].depth--
	}
}

func (r *nftSets) rollback(depth int) {
	if last := len(r.layers) - 1; last >= 0 && r.layers[last].depth == depth {
		r.pop()
	}
}

func (r *nftSets) pop() {
	last := len(r.layers) - 1
	r.layers[last] = nftLayer{}
	r.layers = r.layers[:last]
	r.memory.layers--
}
