package fakeipt

import "github.com/chainwalk/chainwalk/netfilter"

// tableEdit is a table being changed: by one command, or by all lines of a
// restore up to COMMIT. Nobody else sees it, and nothing of the table it began
// with is written to.
type tableEdit struct {
	family  netfilter.Family
	dialect netfilter.Dialect
	kind    *tableKind
	base    *Table // what the edit began with
	// exists is false for a table that the nft tools have not made yet.
	exists bool
	// known says that the tools have found the table in the kernel, and not made it themselves.
	known bool
	// flushed says that the edit began by taking every rule and chain away.
	flushed bool
	changed bool
	// made are the built-in chains that exist: the nft tools make each when it is first used.
	made hookMask
	// forgotten are built-in chains that the kernel has and the tools have lost sight of (nft).
	forgotten hookMask
	// counted are the built-in chains whose policy the kernel counts.
	counted hookMask

	slots    []*chainSlot
	byName   map[string]*chainSlot // the slots, once there are many
	recent   [2]*chainSlot         // looked up last: rules come chain by chain, and their jumps are looked up more than once
	slotSlab []chainSlot
	drafts   []*chainSlot // slots whose chain is another one than in base, in the order of their first change
	bad      map[*Rule]badRule
	context  checkContext
	renames  []rename     // nft: chains that get another name with the commit
	batch    []batchOp    // nft: every rule that was added
	failures []batchError // nft: what the kernel says about the batch
	line     int
}

// chainSlot is one chain name within an edit.
type chainSlot struct {
	name   string
	hook   hookMask    // of a built-in chain
	base   *chainEntry // nil if the base table has no such chain
	live   bool        // the chain exists now
	draft  bool        // the fields below, not base, are the chain
	fresh  bool        // made by this edit
	remade bool        // of a built-in chain that was forgotten: the tools have made it again

	rules    []*Rule
	owned    bool // rules may be appended to in place
	policy   Policy
	counters *netfilter.Counters

	jump, jumpGoto *Jump
	refs           int32 // rules that jump or go to it
	reached        hookCounts
	applied        hookMask // the hooks that have been passed on to the chain's own jumps
	stamp          int32    // marks of the walks in reach.go
	search         uint8    // for circles
}

// edit begins to change a table, of which it expects to look at so many chains.
func (k *Kernel) edit(f netfilter.Family, kind *tableKind, expect int) *tableEdit {
	rs := k.Ruleset(f)
	e := &tableEdit{family: f, dialect: k.dialect, kind: kind, base: rs.Table(kind.name), exists: true}
	if e.base == nil {
		e.base = newTable(kind)
		e.exists = k.dialect == netfilter.Legacy
	}
	e.known = e.exists
	e.made, e.counted = e.base.made, e.base.counted
	if !e.exists {
		e.counted = 0
	}
	if expect > fewSlots {
		e.slots, e.byName = make([]*chainSlot, 0, expect), make(map[string]*chainSlot, expect)
	}
	e.context = checkContext{family: e.family, dialect: e.dialect, table: e.kind, namespace: k.namespace,
		rateMatches: &k.rateMatches,
		rules:       e.allRules(k, netfilter.IPv4, netfilter.IPv6), familyRules: e.allRules(k, f)}
	return e
}

// flushAll takes every rule and user-defined chain away. The nft tools delete the table; legacy keeps the policies.
func (e *tableEdit) flushAll() {
	old := e.base
	e.base = newTable(e.kind)
	if len(e.slots) > 0 {
		// They were those of the old chains.
		e.slots, e.slotSlab, e.recent = nil, nil, [2]*chainSlot{}
		clear(e.byName)
	}
	e.flushed, e.changed = true, true
	if e.dialect == netfilter.NFT {
		e.exists, e.known, e.made, e.counted = false, false, 0, 0
		return
	}
	e.base.registered = old.registered
	for _, name := range e.kind.builtins() {
		s := e.slotOf(name)
		e.open(s)
		s.policy = old.Chain(name).Policy
	}
}

// slotOf returns the slot of a name, made if this is the first time.
func (e *tableEdit) slotOf(name string) *chainSlot { return findSlot(e, name) }

// slotOfWord is slotOf for a word of a command, which becomes a string only if the name is new.
func (e *tableEdit) slotOfWord(name []byte) *chainSlot { return findSlot(e, name) }

func findSlot[N string | []byte](e *tableEdit, name N) *chainSlot {
	for _, s := range e.recent {
		if s != nil && s.name == string(name) {
			return s
		}
	}
	s := knownSlot(e, name)
	if s == nil {
		s = e.newSlot(string(name))
	}
	e.recent[1], e.recent[0] = e.recent[0], s
	return s
}

// fewSlots is how many slots are looked through one by one: most commands look at two or three chains.
const fewSlots = 8

// knownSlot is the slot of a name, nil if there is none yet.
func knownSlot[N string | []byte](e *tableEdit, name N) *chainSlot {
	if e.byName != nil {
		return e.byName[string(name)]
	}
	for _, s := range e.slots {
		if s.name == string(name) {
			return s
		}
	}
	return nil
}

func (e *tableEdit) newSlot(name string) *chainSlot {
	if len(e.slotSlab) == cap(e.slotSlab) {
		e.slotSlab = make([]chainSlot, 0, min(max(2*cap(e.slotSlab), 1), 512))
	}
	e.slotSlab = e.slotSlab[:len(e.slotSlab)+1]
	s := &e.slotSlab[len(e.slotSlab)-1]
	s.name, s.hook, s.base = name, e.kind.hookOf(name), e.base.chains.get(name)
	if s.base != nil {
		s.name, s.live = s.base.chain.Name, true
		s.refs, s.reached = s.base.refs, s.base.reached
		s.applied = s.reached.mask()
	}
	e.remember(s)
	return s
}

func (e *tableEdit) remember(s *chainSlot) {
	e.slots = append(e.slots, s)
	switch {
	case e.byName != nil:
		e.byName[s.name] = s
	case len(e.slots) > fewSlots:
		e.byName = make(map[string]*chainSlot, 2*len(e.slots))
		for _, s := range e.slots {
			e.byName[s.name] = s
		}
	}
}

// currentRules are the rules of the chain as the edit has it now.
func (s *chainSlot) currentRules() []*Rule {
	switch {
	case !s.live:
		return nil
	case s.draft:
		return s.rules
	}
	return s.base.chain.Rules
}

// baseRules are the rules the chain had when the edit began.
func (s *chainSlot) baseRules() []*Rule {
	if s.base == nil {
		return nil
	}
	return s.base.chain.Rules
}

// open makes the slot's chain a draft.
func (e *tableEdit) open(s *chainSlot) {
	e.changed = true
	if s.draft {
		return
	}
	s.draft = true
	e.drafts = append(e.drafts, s)
	if s.base != nil {
		c := s.base.chain
		s.rules, s.policy, s.counters = c.Rules, c.Policy, c.Counters
	}
}

// touch makes the table exist, which nft tools do when a chain or a rule is added.
func (e *tableEdit) touch() { e.exists = true }

// chain returns the slot of a chain that must exist.
func (e *tableEdit) chain(name string) (*chainSlot, error) {
	s := e.slotOf(name)
	if !s.live || !e.exists || e.dialect == netfilter.NFT && s.hook&^e.made != 0 {
		return nil, errNoChain
	}
	return s, nil
}

// own makes the slot's rules a slice that this edit may write to.
func (e *tableEdit) own(s *chainSlot) {
	e.open(s)
	if !s.owned {
		s.rules = append(make([]*Rule, 0, len(s.rules)+len(s.rules)/8+4), s.rules...)
		s.owned = true
	}
}

// view is the chain as the edit has it now, for reading.
func (s *chainSlot) view() *Chain {
	if !s.draft {
		return s.base.chain
	}
	counters := s.counters
	if counters == nil {
		counters = &netfilter.Counters{}
	}
	return &Chain{Name: s.name, Policy: s.policy, Rules: s.rules, Counters: counters}
}
