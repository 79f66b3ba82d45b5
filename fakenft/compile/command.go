package compile

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Command is what a command changes, in the order in which nft sends it; nothing for one that only reads. A table's block is its chains,
// objects and sets, and then the rules.
func Command(c *syntax.Command) ([]nftables.Change, error) { return Append(nil, c) }

// Append appends what Command gives.
func Append(to []nftables.Change, c *syntax.Command) ([]nftables.Change, error) {
	b := builders.Get().(*builder)
	defer b.free()
	b.changes = to
	b.build(c)
	return b.changes, b.err
}

// build adds what a command changes.
func (b *builder) build(c *syntax.Command) {
	outer := b.command
	defer func() { b.command = outer }()
	b.others(c.Before)
	b.command = c
	switch c.Op {
	case syntax.OpAdd, syntax.OpCreate, syntax.OpInsert, syntax.OpReplace:
		b.add()
	case syntax.OpDelete:
		b.remove()
	case syntax.OpFlush:
		b.flush()
	case syntax.OpRename:
		h := c.Handle
		h.ChainLoc = syntax.Loc{} // the chain's name in the change is the new one, which nft has no place of
		b.put(&nftables.AddChain{
			Family: h.Family, Table: h.Table, Chain: nftables.ChainSpec{Name: c.NewName}, Handle: cmp.Or(h.Number, noHandle),
		}, &h)
	case syntax.OpGet, syntax.OpList, syntax.OpReset, syntax.OpMonitor, syntax.OpDescribe, syntax.OpExport, syntax.OpImport:
	}
	b.others(c.After)
}

// noHandle is a handle that no chain has: nft knows none of a chain that the same transaction makes, and the kernel
// finds nothing to rename.
const noHandle = math.MaxUint64

// builders are kept for the room that their generators have.
var builders = sync.Pool{New: func() any { return new(builder) }}

// free gives a builder back.
func (b *builder) free() {
	clear(b.scratch.exprs)
	b.scratch, b.ofSet = generator{exprs: b.scratch.exprs[:0]}, generator{}
	b.changes, b.err = nil, nil
	builders.Put(b)
}

// builder collects the changes of a command.
type builder struct {
	command *syntax.Command
	changes []nftables.Change
	err     error
	// places are where the parts of each change were written, if they are wanted.
	places     []places
	wantPlaces bool
	// scratch is the generator of the last rule, whose room is used again, and ofSet that of the last set.
	scratch, ofSet generator
}

// others are commands that check adds to one.
func (b *builder) others(commands []*syntax.Command) {
	for _, c := range commands {
		b.build(c)
	}
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) refuse(format string, args ...any) {
	b.fail(fmt.Errorf("chainwalk does not support "+format, args...))
}

// put appends a change whose parts are those of a handle.
func (b *builder) put(change nftables.Change, h *syntax.Handle) {
	b.putAt(change, h, b.command.Loc)
}

func (b *builder) putAt(change nftables.Change, h *syntax.Handle, whole syntax.Loc) {
	b.changes = append(b.changes, change)
	if b.wantPlaces {
		b.placedBy(func(part nftables.Part, _ int) syntax.Loc { return placeOf(h, part, whole) })
	}
}

func (b *builder) add() {
	c := b.command
	create := c.Op == syntax.OpCreate
	switch c.Kind {
	case syntax.KindTable:
		b.addTable(c.Table, create)
	case syntax.KindChain:
		b.addChain(c.Chain, &c.Handle, create)
		if c.Chain != nil {
			for _, r := range c.Chain.Rules {
				b.addRule(r, c.Op)
			}
		}
	case syntax.KindRule:
		b.addRule(c.Rule, c.Op)
	case syntax.KindSet, syntax.KindMap, syntax.KindMeter:
		b.addSet(c.Set, nil, create)
	case syntax.KindElements:
		b.addElements(create)
	default:
		if c.Flow != nil {
			b.addFlowtable(c.Flow, &c.Handle, create)
			return
		}
		b.addObject(c.Object, &c.Handle, create)
	}
}

func (b *builder) addTable(t *syntax.TableDecl, create bool) {
	c := b.command
	spec := nftables.TableSpec{Family: c.Handle.Family, Name: c.Handle.Table}
	if t != nil {
		spec.Flags = t.Flags
		spec.UserData = commentData(t.Comment, t.HasComment)
	}
	b.put(&nftables.AddTable{TableSpec: spec, Exclusive: create}, &c.Handle)
	if t == nil {
		return
	}
	for _, chain := range t.Chains {
		b.addChain(chain, &chain.Handle, create)
	}
	for _, o := range t.Objects {
		b.addObject(o, &o.Handle, create)
	}
	for _, s := range t.Sets {
		b.addSet(s, nil, create)
	}
	for _, flow := range t.Flows {
		b.addFlowtable(flow, &flow.Handle, create)
	}
	for _, chain := range t.Chains {
		for _, r := range chain.Rules {
			b.addRule(r, syntax.OpAdd)
		}
	}
}

func commentData(comment string, has bool) []byte {
	if !has {
		return nil
	}
	return nftables.AppendTLV(nil, 0, append([]byte(comment), 0))
}

func (b *builder) addChain(d *syntax.ChainDecl, h *syntax.Handle, create bool) {
	spec := nftables.ChainSpec{Name: h.Chain}
	whole := b.command.Loc
	var hook, policy syntax.Loc
	if d != nil {
		spec.Flags = d.Flags
		spec.UserData = commentData(d.Comment, d.HasComment)
		if d.Hook != nil {
			hook = d.Hook.TypeLoc
			spec.Hooking = &nftables.Hooking{
				Type: d.Hook.Type, Hook: d.Hook.HookNumber, Priority: d.Hook.PriorityNumber, Devices: d.Hook.DeviceNames,
			}
		}
		if d.Policy != nil {
			policy = d.Policy.Info().Loc
			code := policyOf(d.Policy)
			spec.Policy = &code
		}
		if d.Loc.Written() && b.command.Kind != syntax.KindChain {
			whole = d.Loc
		}
	}
	b.changes = append(b.changes, &nftables.AddChain{Family: h.Family, Table: h.Table, Chain: spec, Exclusive: create})
	if b.wantPlaces {
		b.placedBy(chainPlaces(h, hook, policy, whole))
	}
}

func policyOf(e syntax.Expr) expr.Code {
	switch e := e.(type) {
	case *syntax.Value:
		if e.Text == "" {
			return expr.Code(int32(e.Num.Lo))
		}
	case *syntax.Verdict:
		return e.Code
	}
	if nameOf(e) == "drop" {
		return expr.Drop
	}
	return expr.Accept
}

// addSet adds a set with its elements; key is what is looked up in one of a rule.
func (b *builder) addSet(s *syntax.SetDecl, key syntax.Expr, create bool) {
	b.others(s.Before)
	g := &b.ofSet
	*g = generator{}
	h := &s.Handle
	spec := g.setSpec(s, key)
	written := itemsOf(s.Elements)
	var elements []nftables.ElementSpec
	if len(written) > 0 {
		elements = g.elements(s, s.Elements, true, true, nil)
	}
	if spec.Flags&nftables.SetConstant != 0 {
		spec.Size, spec.Policy = constantSize(s, written, elements), 0
		if unsent := itemsOf(s.Unsent); len(unsent) > 0 {
			spec.Size = constantSize(s, unsent, (&generator{}).elements(s, s.Unsent, true, true, nil))
		}
	}
	whole := b.wholeOf(s.Loc)
	if !isAnonymous(s) && (b.command.Kind == syntax.KindSet || b.command.Kind == syntax.KindMap) {
		whole = b.command.Loc
	}
	b.putAt(&nftables.AddSet{Family: h.Family, Table: h.Table, Set: spec, Exclusive: create}, h, whole)
	if len(elements) > 0 {
		b.changes = append(b.changes, &nftables.AddElements{Family: h.Family, Table: h.Table, Set: spec.Name, SetID: s.ID, Elements: elements})
		if b.wantPlaces {
			b.placedBy(declaredPlaces(s, elements, elementPlaces(s, s.Elements, h, whole, true, true)))
		}
	}
	if g.err != nil {
		b.fail(g.err)
	}
}

// constantSize is the size that nft gives a set that does not change: that of its elements, but of intervals it counts each twice, whether
// or not the kernel is told of its end, and what is before the first.
func constantSize(s *syntax.SetDecl, written []syntax.Expr, elements []nftables.ElementSpec) uint32 {
	if len(elements) == 0 || s.Flags&nftables.SetInterval == 0 || isConcat(s.Key) {
		return uint32(len(elements))
	}
	size := 0
	for _, e := range written {
		size++
		if !isCatchall(itemOf(e).key) {
			size++
		}
	}
	if elements[0].Flags&nftables.ElementIntervalEnd != 0 {
		size++
	}
	return uint32(size)
}

func (b *builder) wholeOf(at syntax.Loc) syntax.Loc {
	if at.Written() {
		return at
	}
	return b.command.Loc
}

func (b *builder) addElements(create bool) {
	c := b.command
	if c.Set == nil {
		b.fail(fmt.Errorf("elements of %s: its declaration is not known", c.Handle.Name))
		return
	}
	if len(itemsOf(c.Elements)) == 0 {
		return // check has joined them to those of a command before
	}
	g := &b.ofSet
	*g = generator{}
	elements := g.elements(c.Set, c.Elements, true, c.Begins, nil)
	if g.err != nil {
		b.fail(g.err)
		return
	}
	h := &c.Handle
	b.changes = append(b.changes,
		&nftables.AddElements{Family: h.Family, Table: h.Table, Set: h.Name, Elements: elements, Exclusive: create})
	if b.wantPlaces {
		b.placedBy(unlessSet(c.Loc, elementPlaces(c.Set, c.Elements, h, c.Loc, true, c.Begins)))
	}
}

func (b *builder) addObject(o *syntax.ObjectDecl, h *syntax.Handle, create bool) {
	g := &generator{}
	spec := nftables.ObjectSpec{Name: h.Name, Type: o.Type, UserData: commentData(o.Comment, o.HasComment)}
	if spec.Value = g.objectValue(o, h.Family); spec.Value == nil {
		b.refuse("object %s of this kind", h.Name)
		return
	}
	whole := b.command.Loc
	if b.command.Kind == syntax.KindTable {
		whole = b.wholeOf(o.Loc)
	}
	b.putAt(&nftables.AddObject{Family: h.Family, Table: h.Table, Object: spec, Exclusive: create}, h, whole)
}

// addAnonymous adds a chain without a name, with its rules.
func (b *builder) addAnonymous(c *syntax.ChainDecl, h *syntax.Handle) {
	spec := nftables.ChainSpec{ID: c.ID, Flags: nftables.ChainBinding}
	b.putAt(&nftables.AddChain{Family: h.Family, Table: h.Table, Chain: spec}, h, b.wholeOf(c.Loc))
	b.inTable(unwritten)
	for _, r := range c.Rules {
		b.addRule(r, syntax.OpAdd)
		if last := len(b.changes) - 1; last >= 0 {
			if rule, isRule := b.changes[last].(*nftables.AddRule); isRule {
				rule.Chain, rule.ChainID = "", c.ID
				b.inTable(h.TableLoc)
			}
		}
	}
}

// addRule adds a rule, and before it the anonymous sets that it has.
func (b *builder) addRule(r *syntax.Rule, op syntax.Op) {
	g := &b.scratch
	g.exprs, g.sets, g.chains, g.free, g.err = g.exprs[:0], g.sets[:0], nil, 0, nil
	g.stmts(r.Stmts)
	if g.err != nil {
		b.fail(g.err)
		return
	}
	h := r.Handle
	if h == nil || h.Table == "" {
		h = &b.command.Handle
	}
	sets, chains := g.sets, g.chains
	exprs := append(make([]expr.Expr, 0, len(g.exprs)), g.exprs...)
	g.sets = nil
	for _, c := range chains {
		b.addAnonymous(c, h)
	}
	for _, s := range sets {
		if s.Handle.Table == "" {
			s.Handle.Family, s.Handle.Table = h.Family, h.Table
		}
		b.addSet(s.SetDecl, s.key, false)
	}
	change := &nftables.AddRule{
		Family: h.Family, Table: h.Table, Chain: h.Chain, Handle: h.Placement().Position, UserData: commentData(r.Comment, r.HasComment),
		ID: r.ID, Want: r.Want, Exprs: exprs,
	}
	if beside := h.Placement().Neighbour; beside != nil {
		change.PlaceID = beside.ID
	}
	switch op {
	case syntax.OpInsert:
		change.Place = nftables.First
	case syntax.OpReplace:
		change.Place, change.Handle = nftables.Instead, h.Number
	}
	whole := b.command.Loc
	if b.command.Kind != syntax.KindRule {
		whole = b.wholeOf(r.Loc)
	}
	b.changes = append(b.changes, change)
	if b.wantPlaces {
		b.placedBy(rulePlaces(r, h, whole))
	}
}
