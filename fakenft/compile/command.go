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

// Request is a change of the kernel's tables, and where its parts were written.
type Request struct {
	Change nftables.Change
	// Places is where the part of the change was written that a refusal is about; the command as a whole if the part has no place.
	Places func(part nftables.Part, index int) syntax.Loc
}

// Command is what a command changes, in the order in which nft sends it; nothing for one that only reads. A table's block is its chains,
// objects and sets, and then the rules.
func Command(c *syntax.Command) ([]Request, error) { return Append(nil, c) }

// Append appends what Command gives.
func Append(to []Request, c *syntax.Command) ([]Request, error) {
	b := builders.Get().(*builder)
	defer b.free()
	b.command, b.requests = c, to
	b.others(c.Before)
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
	return b.requests, b.err
}

// noHandle is a handle that no chain has: nft knows none of a chain that the same transaction makes, and the kernel
// finds nothing to rename.
const noHandle = math.MaxUint64

// builders are kept for the room that their generators have.
var builders = sync.Pool{New: func() any { return new(builder) }}

// free gives a builder back.
func (b *builder) free() {
	clear(b.scratch.exprs)
	b.scratch = generator{exprs: b.scratch.exprs[:0]}
	b.command, b.requests, b.err = nil, nil, nil
	builders.Put(b)
}

// builder collects the requests of a command.
type builder struct {
	command  *syntax.Command
	requests []Request
	err      error
	// scratch is the generator of the last rule, whose room is used again.
	scratch generator
}

// others are commands that check adds to one.
func (b *builder) others(commands []*syntax.Command) {
	for _, c := range commands {
		var err error
		if b.requests, err = Append(b.requests, c); err != nil {
			b.fail(err)
		}
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
	b.requests = append(b.requests, Request{change, func(part nftables.Part, _ int) syntax.Loc { return placeOf(h, part, whole) }})
}

func placeOf(h *syntax.Handle, part nftables.Part, whole syntax.Loc) syntax.Loc {
	var at syntax.Loc
	switch part {
	case nftables.PartTable:
		at = h.TableLoc
	case nftables.PartChain:
		at = h.ChainLoc
	case nftables.PartName:
		at = h.NameLoc
	case nftables.PartHandle:
		at = h.NumberLoc
	case nftables.PartPlace: // nft has noted no place of it
	}
	if !at.Written() {
		return whole
	}
	return at
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
	change := &nftables.AddChain{Family: h.Family, Table: h.Table, Chain: spec, Exclusive: create}
	b.requests = append(b.requests, Request{change, func(part nftables.Part, _ int) syntax.Loc {
		switch {
		case part == nftables.PartHook && hook.Written():
			return hook
		case part == nftables.PartPolicy && policy.Written():
			return policy
		}
		return placeOf(h, part, whole)
	}})
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
	g := &generator{}
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
		change := &nftables.AddElements{Family: h.Family, Table: h.Table, Set: spec.Name, SetID: s.ID, Elements: elements}
		places := elementPlaces(s, s.Elements, h, whole, true, true)
		b.requests = append(b.requests, Request{change, func(part nftables.Part, index int) syntax.Loc {
			if s.Loc.Written() && (part == nftables.PartName || part == nftables.PartTable && isAnonymous(s)) {
				return s.Loc // of a set that was refused itself
			}
			if part == nftables.PartElement && index == 0 && elements[0].Flags&nftables.ElementIntervalEnd != 0 && !isAnonymous(s) {
				return unwritten // the end at 0
			}
			return places(part, index)
		}})
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

// elementPlaces finds the place of an element when it is asked for.
func elementPlaces(
	s *syntax.SetDecl, written syntax.Expr, h *syntax.Handle, whole syntax.Loc, add, first bool,
) func(nftables.Part, int) syntax.Loc {
	return func(part nftables.Part, index int) syntax.Loc {
		if part != nftables.PartElement {
			return placeOf(h, part, whole)
		}
		var places []syntax.Loc
		new(generator).elements(s, written, add, first, &places)
		if index < len(places) && places[index].Written() {
			return places[index]
		}
		return whole
	}
}

// unlessSet are places but for that of the set: if it is not there it was refused itself, as nft would have missed it, and the whole
// command is pointed at.
func unlessSet(whole syntax.Loc, places func(nftables.Part, int) syntax.Loc) func(nftables.Part, int) syntax.Loc {
	return func(part nftables.Part, index int) syntax.Loc {
		if part == nftables.PartName {
			return whole
		}
		return places(part, index)
	}
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
	g := &generator{}
	elements := g.elements(c.Set, c.Elements, true, c.Begins, nil)
	if g.err != nil {
		b.fail(g.err)
		return
	}
	h := &c.Handle
	places := elementPlaces(c.Set, c.Elements, h, c.Loc, true, c.Begins)
	b.requests = append(b.requests, Request{
		&nftables.AddElements{Family: h.Family, Table: h.Table, Set: h.Name, Elements: elements, Exclusive: create},
		unlessSet(c.Loc, places),
	})
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
		if last := len(b.requests) - 1; last >= 0 {
			if rule, isRule := b.requests[last].Change.(*nftables.AddRule); isRule {
				rule.Chain, rule.ChainID = "", c.ID
				b.inTable(h.TableLoc)
			}
		}
	}
}

// inTable says where the name of the table was written for the request that was put last.
func (b *builder) inTable(at syntax.Loc) {
	last := &b.requests[len(b.requests)-1]
	places := last.Places
	last.Places = func(part nftables.Part, index int) syntax.Loc {
		if part == nftables.PartTable {
			return at
		}
		return places(part, index)
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
	h := &r.Handle
	if h.Table == "" {
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
		Family: h.Family, Table: h.Table, Chain: h.Chain, Handle: h.Position, UserData: commentData(r.Comment, r.HasComment),
		ID: r.ID, Want: r.Want, Exprs: exprs,
	}
	if h.Beside != nil {
		change.PlaceID = h.Beside.ID
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
	b.requests = append(b.requests, Request{change, func(part nftables.Part, index int) syntax.Loc {
		if part != nftables.PartExpr {
			return placeOf(h, part, whole)
		}
		again := generator{wantPlaces: true}
		again.stmts(r.Stmts)
		if index < len(again.places) && again.places[index].Written() {
			return again.places[index]
		}
		return whole
	}})
}
