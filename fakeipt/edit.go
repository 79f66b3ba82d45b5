package fakeipt

import (
	"bytes"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/nfacct"
)

// tableEdit is a table being changed: by one command, or by all lines of a
// restore up to COMMIT. Nobody else sees it, and nothing of the table it began
// with is written to.
type tableEdit struct {
	family  Family
	dialect Dialect
	kind    *tableKind
	objects *nfacct.Table
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
	// counted are the built-in chains whose policy the kernel counts.
	counted hookMask

	slots    map[string]*chainSlot
	recent   [2]*chainSlot // looked up last: rules come chain by chain, and their jumps are looked up more than once
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
	name  string
	hook  hookMask    // of a built-in chain
	base  *chainEntry // nil if the base table has no such chain
	live  bool        // the chain exists now
	draft bool        // the fields below, not base, are the chain
	fresh bool        // made by this edit

	rules    []*Rule
	owned    bool // rules may be appended to in place
	policy   Policy
	counters *Counters

	jump, jumpGoto *Jump
	refs           int32 // rules that jump or go to it
	reached        hookCounts
	applied        hookMask // the hooks that have been passed on to the chain's own jumps
	stamp          int32    // marks of the walks in reach.go
	visit          uint8
}

// badRule is why the kernel refuses a rule for itself, and the line of input that it is from.
type badRule struct {
	errno syscall.Errno
	line  int
}

// batchOp is a rule that an nft tool adds.
type batchOp struct {
	rule *Rule
	slot *chainSlot
	line int32
	kind batchKind
}

// batchKind is the kind of a change in a batch for the kernel.
type batchKind uint8

const (
	batchAppend batchKind = iota
	batchInsert
	batchReplace
	batchDeleteChain
	batchRenameChain
	batchZeroChain
)

// isOfChain says that the change is of a chain and not of one rule.
func (k batchKind) isOfChain() bool { return k >= batchDeleteChain }

var batchNames = [...]string{"RULE_APPEND", "RULE_INSERT", "RULE_REPLACE", "CHAIN_DEL", "CHAIN_RENAME", "CHAIN_ZERO"}

// batchError is a change that the kernel refused.
type batchError struct {
	line  int
	kind  batchKind
	errno syscall.Errno
	chain string
}

// newEdit begins to change a table, of which it expects to look at so many chains.
func newEdit(rs *Ruleset, kind *tableKind, objects *nfacct.Table, sets *IPSetTable, expect int) *tableEdit {
	e := &tableEdit{family: rs.family, dialect: rs.dialect, kind: kind, objects: objects, base: rs.Table(kind.name), exists: true}
	if e.base == nil {
		e.base = newTable(kind)
		e.exists = rs.dialect == Legacy
	}
	e.known = e.exists
	e.made, e.counted = e.base.made, e.base.counted
	if !e.exists {
		e.counted = 0
	}
	e.slots = make(map[string]*chainSlot, expect)
	e.context = checkContext{family: e.family, dialect: e.dialect, table: e.kind, objects: objects, sets: sets}
	return e
}

// flushAll takes every rule and user-defined chain away. The nft tools delete the table; legacy keeps the policies.
func (e *tableEdit) flushAll() {
	old := e.base
	e.base = newTable(e.kind)
	if len(e.slots) > 0 {
		// They were those of the old chains.
		e.slots, e.slotSlab, e.recent = map[string]*chainSlot{}, nil, [2]*chainSlot{}
	}
	e.flushed, e.changed = true, true
	if e.dialect == NFT {
		e.exists, e.known, e.made, e.counted = false, false, 0, 0
		return
	}
	for _, name := range e.kind.builtins() {
		s := e.slotOf(name)
		e.open(s)
		s.policy = old.Chain(name).Policy
	}
}

// find returns the slot of a name, made if this is the first time.
func (e *tableEdit) find(name []byte) *chainSlot {
	for _, s := range e.recent {
		if s != nil && s.name == string(name) {
			return s
		}
	}
	if s := e.slots[string(name)]; s != nil {
		return e.remember(s)
	}
	return e.remember(e.newSlot(string(name)))
}

func (e *tableEdit) slotOf(name string) *chainSlot {
	for _, s := range e.recent {
		if s != nil && s.name == name {
			return s
		}
	}
	if s := e.slots[name]; s != nil {
		return e.remember(s)
	}
	return e.remember(e.newSlot(name))
}

func (e *tableEdit) remember(s *chainSlot) *chainSlot {
	e.recent[1], e.recent[0] = e.recent[0], s
	return s
}

func (e *tableEdit) newSlot(name string) *chainSlot {
	if len(e.slotSlab) == cap(e.slotSlab) {
		e.slotSlab = make([]chainSlot, 0, min(max(2*cap(e.slotSlab), 4), 512))
	}
	e.slotSlab = e.slotSlab[:len(e.slotSlab)+1]
	s := &e.slotSlab[len(e.slotSlab)-1]
	s.name, s.hook, s.base = name, e.kind.hookOf(name), e.base.chains.get(name)
	if s.base != nil {
		s.name, s.live = s.base.chain.Name, true
		s.refs, s.reached = s.base.refs, s.base.reached
		s.applied = s.reached.mask()
	}
	e.slots[s.name] = s
	return s
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
	if !s.live || !e.exists || e.dialect == NFT && s.hook&^e.made != 0 {
		return nil, errNoChain
	}
	return s, nil
}

// jumpTo returns the target that jumps to the slot's chain.
func (s *chainSlot) jumpTo(isGoto bool) *Jump {
	if isGoto {
		if s.jumpGoto == nil {
			s.jumpGoto = &Jump{Chain: s.name, Goto: true}
		}
		return s.jumpGoto
	}
	if s.jump == nil {
		s.jump = &Jump{Chain: s.name}
	}
	return s.jump
}

// count adds n to the references of the chain that the rule jumps to, if it does.
func (e *tableEdit) count(r *Rule, n int32) {
	if j, ok := r.Target.(*Jump); ok {
		e.slotOf(j.Chain).refs += n
	}
}

// createChain adds a chain that must not exist.
func (e *tableEdit) createChain(name string) error {
	s := e.slotOf(name)
	if s.live || isVerdictName(name) {
		return errChainExists
	}
	e.touch()
	e.open(s)
	s.live, s.fresh = true, true
	s.rules, s.owned, s.policy, s.counters = nil, true, PolicyNone, nil
	return nil
}

func isVerdictName(name string) bool {
	_, ok := findVerdict([]byte(name))
	return ok || name == queueName
}

// flushChain removes all rules of a chain.
func (e *tableEdit) flushChain(s *chainSlot) {
	for _, r := range s.currentRules() {
		e.count(r, -1)
	}
	e.open(s)
	s.rules, s.owned = nil, true
}

// deleteChain removes a chain that is empty and that no rule jumps to.
func (e *tableEdit) deleteChain(name string) error {
	s, err := e.chain(name)
	switch {
	case err != nil:
		return err
	case e.dialect == NFT && s.hook != 0:
		return e.deleteBuiltin(s)
	case e.dialect == NFT && (s.refs > 0 || !e.empty(s)):
		e.fail(e.line, batchDeleteChain, syscall.EBUSY, name)
	case e.dialect == NFT:
	case s.hook != 0:
		return errDeleteBuiltin
	case s.refs > 0:
		return errReferenced
	case len(s.currentRules()) > 0:
		return errNotEmpty
	}
	e.open(s)
	s.live, s.rules = false, nil
	return nil
}

// deleteBuiltin makes a built-in chain as if it had never been used (nft).
func (e *tableEdit) deleteBuiltin(s *chainSlot) error {
	switch {
	case s.basePolicy() != PolicyAccept || s.grown():
		return errNotEmpty
	case !e.empty(s):
		e.fail(e.line, batchDeleteChain, syscall.EBUSY, s.name)
		return nil
	}
	e.open(s)
	e.made &^= s.hook
	e.counted &^= s.hook
	s.rules, s.counters, s.policy = nil, nil, PolicyAccept
	return nil
}

// grown says that the edit has put a rule into the chain, which the tools then know of.
func (s *chainSlot) grown() bool {
	old := s.baseRules()
	return slices.ContainsFunc(s.currentRules(), func(r *Rule) bool { return !slices.Contains(old, r) })
}

// basePolicy is the policy that the tools know of a built-in chain: not one that the same input sets.
func (s *chainSlot) basePolicy() Policy { return s.base.chain.Policy }

// deleteAllChains removes every user-defined chain, and for the nft tools the built-in ones that do nothing.
func (e *tableEdit) deleteAllChains() error {
	var last error
	for _, name := range e.userChains() {
		if err := e.deleteChain(name); err != nil {
			last = err
		}
	}
	if last != nil || e.dialect == Legacy {
		// The legacy tools try all chains and tell of the last one that is refused.
		return last
	}
	for _, s := range e.madeChains() {
		if s.hook != 0 && s.basePolicy() == PolicyAccept && len(s.currentRules()) == 0 {
			if err := e.deleteBuiltin(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// userChains are the names of the user-defined chains as the edit has them now, sorted.
func (e *tableEdit) userChains() []string {
	var names []string
	e.base.chains.each(func(c *chainEntry) {
		if c.chain.Policy == PolicyNone && e.slotOf(c.chain.Name).live {
			names = append(names, c.chain.Name)
		}
	})
	for _, s := range e.drafts {
		if s.live && s.hook == 0 && s.base == nil {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// allChains are the built-in chains and then the others, as listings have them.
func (e *tableEdit) allChains() []*chainSlot {
	var all []*chainSlot
	for _, name := range append(e.kind.builtins(), e.userChains()...) {
		all = append(all, e.slotOf(name))
	}
	return all
}

// madeChains are the chains that exist, as listings have them.
func (e *tableEdit) madeChains() []*chainSlot {
	if !e.exists {
		return nil
	}
	chains := e.allChains()
	if e.dialect == NFT {
		chains = slices.DeleteFunc(chains, func(s *chainSlot) bool { return s.hook&^e.made != 0 })
	}
	return chains
}

// makeBuiltins makes the built-in chain of that name, or all of them: the nft tools do so before they look at chains.
func (e *tableEdit) makeBuiltins(name string, one bool) {
	hooks := e.kind.hooks
	if one {
		hooks = e.kind.hookOf(name)
	}
	if hooks&^e.made == 0 {
		return
	}
	e.touch()
	e.made |= hooks
	e.changed = true
}

// renameChain gives a chain another name, in every jump as well.
func (e *tableEdit) renameChain(from, to string) error {
	old := e.slotOf(from)
	next := e.slotOf(to)
	switch {
	case e.dialect == NFT && old.hook != 0:
		return badParameter("not supported: renaming the built-in chain %s, which these tools do and can then not list any more", from)
	case e.dialect == NFT && isVerdictName(to):
		return badParameter("not supported: a chain with the name of the verdict %s", to)
	case next.live || isVerdictName(to):
		return errRenameExists
	case !old.live || !e.exists || old.hook != 0:
		return errNoChain
	case e.dialect == NFT && old.fresh:
		e.fail(e.line, batchRenameChain, syscall.ENOENT, to)
	case e.dialect == NFT:
		e.renames = append(e.renames, rename{old, next})
		e.changed = true
	default:
		e.moveChain(old, next)
	}
	return nil
}

// rename is a change of a chain's name that the kernel is asked for. Until the commit the nft tools know the chain by
// its old name.
type rename struct{ from, to *chainSlot }

// moveChain gives what a chain has to another name.
func (e *tableEdit) moveChain(old, next *chainSlot) {
	rules := old.currentRules()
	e.open(old)
	e.open(next)
	next.live, next.rules, next.policy = true, slices.Clone(rules), PolicyNone
	next.owned = true
	old.live, old.rules = false, nil
	for _, s := range e.allChains() {
		e.retarget(s, old.name, next)
	}
	next.refs, old.refs = next.refs+old.refs, 0
}

// retarget replaces the jumps to a chain by jumps to another one.
func (e *tableEdit) retarget(s *chainSlot, from string, to *chainSlot) {
	for i, r := range s.currentRules() {
		j, ok := r.Target.(*Jump)
		if !ok || j.Chain != from {
			continue
		}
		e.own(s)
		changed := *r
		changed.Target = to.jumpTo(j.Goto)
		s.rules[i] = &changed
	}
}

// own makes the slot's rules a slice that this edit may write to.
func (e *tableEdit) own(s *chainSlot) {
	e.open(s)
	if !s.owned {
		s.rules = append(make([]*Rule, 0, len(s.rules)+len(s.rules)/8+4), s.rules...)
		s.owned = true
	}
}

// setPolicy sets the policy of a built-in chain and its counters.
func (e *tableEdit) setPolicy(name, policy string, counters *Counters) error {
	s := e.slotOf(name)
	p := policyOf(policy)
	switch {
	case s.hook == 0 && (e.dialect == Legacy || p != PolicyNone):
		return errNotBuiltin
	case p == PolicyNone:
		return errBadPolicy
	}
	e.touch()
	e.made |= s.hook
	e.open(s)
	s.policy, s.counters = p, counters
	return nil
}

// policyOf is the policy of that name, PolicyNone if there is none.
func policyOf(name string) Policy {
	switch name {
	case "ACCEPT":
		return PolicyAccept
	case "DROP":
		return PolicyDrop
	}
	return PolicyNone
}

// ordinaryChain is the number of rules of most chains.
const ordinaryChain = 3

// insert puts a rule before the one with that index; the length of the chain appends it.
func (e *tableEdit) insert(s *chainSlot, index int, r *Rule) {
	e.touch()
	e.own(s)
	if index == len(s.rules) {
		if s.rules == nil {
			s.rules = make([]*Rule, 0, ordinaryChain)
		}
		s.rules = append(s.rules, r)
	} else {
		s.rules = slices.Insert(s.rules, index, r)
	}
	e.count(r, 1)
}

// admit makes the kernel's checks of a rule that do not depend on the rest of the table.
func (e *tableEdit) admit(s *chainSlot, r *Rule, kind batchKind) {
	errno := e.check(r)
	if e.dialect == Legacy {
		if errno != 0 {
			e.setBad(r, errno)
		}
		return
	}
	if errno == 0 && s.hook&^ruleHooks(r, false) != 0 {
		errno = syscall.EINVAL
	}
	if errno != 0 {
		// The kernel goes on without the rule.
		e.setBad(r, errno)
		e.count(r, -1)
		e.fail(e.line, kind, errno, s.name)
		return
	}
	e.batch = append(e.batch, batchOp{rule: r, slot: s, line: int32(e.line), kind: kind})
}

// setBad notes a rule that the kernel refuses for itself.
func (e *tableEdit) setBad(r *Rule, errno syscall.Errno) {
	if e.bad == nil {
		e.bad = map[*Rule]badRule{}
	}
	e.bad[r] = badRule{errno, e.line}
}

// empty says that no rule is in the chain, but for those that the kernel refused.
func (e *tableEdit) empty(s *chainSlot) bool {
	for _, r := range s.currentRules() {
		if e.bad[r].errno == 0 {
			return false
		}
	}
	return true
}

// fail notes a change that the kernel will refuse.
func (e *tableEdit) fail(line int, kind batchKind, errno syscall.Errno, chain string) {
	e.changed = true
	e.failures = append(e.failures, batchError{line, kind, errno, chain})
}

// check asks every match and the target of a rule.
func (e *tableEdit) check(r *Rule) syscall.Errno {
	c := &e.context
	c.rule = r
	if e.dialect == NFT && (neverMatches(r.Src) || neverMatches(r.Dst)) {
		return syscall.EINVAL
	}
	for _, m := range r.Matches {
		if k, ok := m.(checker); ok {
			if errno := k.check(c); errno != 0 {
				return errno
			}
		}
	}
	switch t := r.Target.(type) {
	case nil:
	case *Jump:
		if e.kind.hookOf(t.Chain) != 0 {
			if e.made&e.kind.hookOf(t.Chain) == 0 {
				return syscall.ENOENT
			}
			return syscall.EOPNOTSUPP
		}
	case checker:
		return t.check(c)
	}
	return 0
}

// neverMatches is an inverted address with an empty mask, for which nft has no expression.
func neverMatches(m *AddrMatch) bool {
	return m != nil && m.Invert && maskBits(m.Mask) == 0
}

// replace puts a rule in the place of another one.
func (e *tableEdit) replace(s *chainSlot, index int, r *Rule) {
	e.own(s)
	e.count(s.rules[index], -1)
	s.rules[index] = r
	e.count(r, 1)
}

// remove deletes the rule with that index.
func (e *tableEdit) remove(s *chainSlot, index int) {
	e.own(s)
	e.count(s.rules[index], -1)
	s.rules = slices.Delete(s.rules, index, index+1)
}

// search returns the index of the first rule equal to r, -1 if there is none.
func (e *tableEdit) search(s *chainSlot, r *Rule) int {
	want := r.appendOptions(nil, e.family, e.dialect)
	matches := matchesReadBack(r.Matches, e.dialect)
	var text []byte
	for i, other := range s.currentRules() {
		if other.Proto != r.Proto {
			continue
		}
		others := matchesReadBack(other.Matches, e.dialect)
		if len(others) != len(matches) {
			continue
		}
		text = other.appendOptions(text[:0], e.family, e.dialect)
		if bytes.Equal(text, want) && !unlikeMatches(others, matches) {
			return i
		}
	}
	return -1
}

// zero sets counters to zero: of one rule, or with index -1 of the whole chain. Rules that the same input has added
// are not set to zero: legacy leaves them as they are, and the nft tools send the kernel a change that it refuses.
func (e *tableEdit) zero(s *chainSlot, index int) {
	old := e.oldCounters(s)
	e.own(s)
	for i, r := range s.rules {
		if index >= 0 && i != index {
			continue
		}
		if !old[r.Counters] {
			if e.dialect == NFT && (r.Counters.Packets() > 0 || r.Counters.Bytes() > 0) {
				e.fail(e.line, batchReplace, syscall.EINVAL, s.name)
			}
			continue
		}
		changed := *r
		changed.Counters = &Counters{}
		s.rules[i] = &changed
	}
	// Legacy leaves counters alone that were set by the same input.
	set := s.counters != nil && (s.base == nil || s.counters != s.base.chain.Counters)
	if index < 0 && s.hook != 0 && !(set && e.dialect == Legacy) {
		s.counters = &Counters{}
		e.counted |= s.hook
		if e.dialect == NFT {
			// The tools send the chain as they have read it.
			s.policy = s.basePolicy()
		}
	}
}

// oldCounters are the counters of the rules that the chain had when the edit began.
func (e *tableEdit) oldCounters(s *chainSlot) map[*Counters]bool {
	old := map[*Counters]bool{}
	note := func(c *chainEntry) {
		for _, r := range c.chain.Rules {
			old[r.Counters] = true
		}
	}
	if s.base != nil {
		note(s.base)
	} else {
		// The chain may have had another name.
		e.base.chains.each(note)
	}
	return old
}

// view is the chain as the edit has it now, for reading.
func (s *chainSlot) view() *Chain {
	if !s.draft {
		return s.base.chain
	}
	counters := s.counters
	if counters == nil {
		counters = &Counters{}
	}
	return &Chain{Name: s.name, Policy: s.policy, Rules: s.rules, Counters: counters}
}
