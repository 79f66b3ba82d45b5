package ruleset

import (
	"sync/atomic"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Edit is a table being changed: by one command, or by all lines of a
// restore up to COMMIT. Nobody else sees it, and nothing of the table it began
// with is written to.
type Edit struct {
	draft
	batch
	// Exists is false for a table that the nft tools have not made yet.
	Exists bool
	// Known says that the tools have found the table in the kernel, and not made it themselves.
	Known bool
	// Flushed says that the edit began by taking every rule and chain away.
	Flushed bool
	// Emptied says that the nft tools have asked for all rules of the table to be deleted, in whatever chain.
	Emptied bool
	// Made are the built-in chains that exist: the nft tools make each when it is first used.
	Made xtables.HookMask
	// forgotten are built-in chains that the kernel has and the tools have lost sight of (nft).
	forgotten xtables.HookMask
	// Counted are the built-in chains whose policy the kernel counts.
	Counted xtables.HookMask

	handles handles

	Context xtables.CheckContext
	renames []rename // nft: chains that get another name with the commit
}

// draft is the chains of a table as an edit has them now.
type draft struct {
	Family  netfilter.Family
	Dialect netfilter.Dialect
	Kind    *Kind
	Base    *Table // what the edit began with
	Changed bool
	// appends says that the tools put chains that they make behind those that they know, and not among them.
	appends bool

	slots    []*Slot
	byName   map[string]*Slot // the slots, once there are many
	recent   [2]*Slot         // looked up last: rules come chain by chain, and their jumps are looked up more than once
	slotSlab []Slot
	opened   []*Slot // slots whose chain is another one than in base, in the order of their first change
}

// Slot is one chain name within an edit.
type Slot struct {
	Name   string
	Hook   xtables.HookMask // of a built-in chain
	base   *chainEntry      // nil if the base table has no such chain
	Live   bool             // the chain exists now
	draft  bool             // the fields below, not base, are the chain
	Fresh  bool             // made by this edit
	remade bool             // of a built-in chain that was forgotten: the tools have made it again

	rules    []*xtables.Rule
	owned    bool // rules may be appended to in place
	policy   Policy
	Counters *netfilter.Counters
	handle   uint64

	jump, jumpGoto *xtables.Jump
	Refs           int32 // rules that jump or go to it
	reached        hookCounts
	applied        xtables.HookMask // the hooks that have been passed on to the chain's own jumps
	stamp          int32            // marks of the walks in reach.go
	search         uint8            // for circles
}

// Surroundings are what the kernel looks at beside the table, when it checks a rule.
type Surroundings struct {
	Namespace *netfilter.Namespace
	// RateMatches is set once a rule may have had --hashlimit-rate-match.
	RateMatches *atomic.Bool
	// Rulesets are all that the kernel has.
	Rulesets func() []*Ruleset
}

// Edit begins to change a table, of which it expects to look at so many chains.
func (rs *Ruleset) Edit(kind *Kind, expect int, in *Surroundings) *Edit {
	e := &Edit{draft: draft{Family: rs.family, Dialect: rs.dialect, Kind: kind, Base: rs.Table(kind.Name)}, Exists: true}
	if e.Base == nil {
		e.Base = NewTable(kind)
		e.Exists = rs.dialect == netfilter.Legacy
	}
	e.Known = e.Exists
	e.Made, e.Counted, e.handles = e.Base.made, e.Base.counted, e.Base.handles
	if !e.Exists {
		e.Counted = 0
	}
	if expect > fewSlots {
		e.slots, e.byName = make([]*Slot, 0, expect), make(map[string]*Slot, expect)
	}
	e.Context = xtables.CheckContext{Family: e.Family, Dialect: e.Dialect, Table: e.Kind.Name, Namespace: in.Namespace,
		RateMatches: in.RateMatches,
		Rules:       e.allRules(in, netfilter.IPv4, netfilter.IPv6), FamilyRules: e.allRules(in, rs.family)}
	return e
}

// AsksKernel says that there is something to commit, be it that it fails.
func (e *Edit) AsksKernel() bool { return e.Changed || len(e.failures) > 0 }

// FlushAll takes every rule and user-defined chain away. The nft tools delete the table; legacy keeps the policies.
func (e *Edit) FlushAll() {
	old := e.Base
	e.Base = NewTable(e.Kind)
	if len(e.slots) > 0 {
		// They were those of the old chains.
		e.slots, e.slotSlab, e.recent = nil, nil, [2]*Slot{}
		clear(e.byName)
	}
	e.Flushed, e.Changed = true, true
	if e.Dialect == netfilter.NFT {
		e.Exists, e.Known, e.Made, e.Counted, e.handles = false, false, 0, 0, handles{}
		return
	}
	e.Base.registered = old.registered
	for _, name := range e.Kind.builtins() {
		s := e.SlotOf(name)
		e.Open(s)
		s.policy = old.Chain(name).Policy
	}
}

// SlotOf returns the slot of a name, made if this is the first time.
func (d *draft) SlotOf(name string) *Slot { return findSlot(d, name) }

// SlotOfWord is slotOf for a word of a command, which becomes a string only if the name is new.
func (d *draft) SlotOfWord(name []byte) *Slot { return findSlot(d, name) }

func findSlot[N string | []byte](d *draft, name N) *Slot {
	for _, s := range d.recent {
		if s != nil && s.Name == string(name) {
			return s
		}
	}
	s := knownSlot(d, name)
	if s == nil {
		s = d.newSlot(string(name))
	}
	d.recent[1], d.recent[0] = d.recent[0], s
	return s
}

// fewSlots is how many slots are looked through one by one: most commands look at two or three chains.
const fewSlots = 8

// knownSlot is the slot of a name, nil if there is none yet.
func knownSlot[N string | []byte](d *draft, name N) *Slot {
	if d.byName != nil {
		return d.byName[string(name)]
	}
	for _, s := range d.slots {
		if s.Name == string(name) {
			return s
		}
	}
	return nil
}

func (d *draft) newSlot(name string) *Slot {
	if len(d.slotSlab) == cap(d.slotSlab) {
		d.slotSlab = make([]Slot, 0, min(max(2*cap(d.slotSlab), 1), 512))
	}
	d.slotSlab = d.slotSlab[:len(d.slotSlab)+1]
	s := &d.slotSlab[len(d.slotSlab)-1]
	s.Name, s.Hook, s.base = name, d.Kind.hookOf(name), d.Base.chains.get(name)
	if s.base != nil {
		s.Name, s.Live = s.base.chain.Name, true
		s.Refs, s.reached = s.base.refs, s.base.reached
		s.applied = s.reached.mask()
	}
	d.remember(s)
	return s
}

func (d *draft) remember(s *Slot) {
	d.slots = append(d.slots, s)
	switch {
	case d.byName != nil:
		d.byName[s.Name] = s
	case len(d.slots) > fewSlots:
		d.byName = make(map[string]*Slot, 2*len(d.slots))
		for _, s := range d.slots {
			d.byName[s.Name] = s
		}
	}
}

// CurrentRules are the rules of the chain as the edit has it now.
func (s *Slot) CurrentRules() []*xtables.Rule {
	switch {
	case !s.Live:
		return nil
	case s.draft:
		return s.rules
	}
	return s.base.chain.Rules
}

// baseRules are the rules the chain had when the edit began.
func (s *Slot) baseRules() []*xtables.Rule {
	if s.base == nil {
		return nil
	}
	return s.base.chain.Rules
}

// Open makes the slot's chain a draft.
func (d *draft) Open(s *Slot) {
	d.Changed = true
	if s.draft {
		return
	}
	s.draft = true
	d.opened = append(d.opened, s)
	if s.base != nil {
		c := s.base.chain
		s.rules, s.policy, s.Counters, s.handle = c.Rules, c.Policy, c.Counters, c.handle
	}
}

// Touch makes the table exist, which nft tools do when a chain or a rule is added.
func (e *Edit) Touch() { e.Exists = true }

// Chain returns the slot of a chain that must exist.
func (e *Edit) Chain(name string) (*Slot, error) {
	s := e.SlotOf(name)
	if !s.Live || !e.Exists || e.Dialect == netfilter.NFT && s.Hook&^e.Made != 0 {
		return nil, ErrNoChain
	}
	return s, nil
}

// own makes the slot's rules a slice that this edit may write to.
func (d *draft) own(s *Slot) {
	d.Open(s)
	if !s.owned {
		s.rules = append(make([]*xtables.Rule, 0, len(s.rules)+len(s.rules)/8+4), s.rules...)
		s.owned = true
	}
}

// View is the chain as the edit has it now, for reading.
func (s *Slot) View() *Chain {
	if !s.draft {
		return s.base.chain
	}
	counters := s.Counters
	if counters == nil {
		counters = &netfilter.Counters{}
	}
	return &Chain{Name: s.Name, Policy: s.policy, Rules: s.rules, Counters: counters}
}
