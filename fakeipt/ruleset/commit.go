package ruleset

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Commit makes the kernel's checks and returns the new table; nil if there is no table now.
// The edit must not be used afterwards.
func (e *Edit) Commit() (*Table, error) {
	if !e.Exists {
		return nil, e.failure()
	}
	for _, r := range e.renames {
		e.moveChain(r.from, r.to)
	}
	if err := e.verify(); err != nil {
		return nil, err
	}
	return e.build(), nil
}

// verify makes the checks of the whole edit.
func (e *Edit) verify() error {
	if len(e.failures) > 0 {
		return e.failure()
	}
	bad, rule, chain := e.firstBad()
	errno := e.update()
	switch {
	case bad.errno != 0 && errno == syscall.ELOOP:
		return &CommitError{Errno: errno}
	case bad.errno != 0:
		// What of the rule the kernel comes to first may be one that the hooks of the chain forbid.
		return &CommitError{Errno: e.check(rule, chain.reached.mask()), Line: bad.line}
	case errno == 0:
		return nil
	case e.Dialect == netfilter.Legacy:
		return &CommitError{Errno: errno}
	}
	e.blame()
	return e.failure()
}

// CommitError is a table that the kernel refused as a whole (legacy), or the changes it refused (nft).
type CommitError struct {
	Errno    syscall.Errno
	Line     int // of the input that the refusal is about, 0: not known
	Failures []Failure
}

func (c *CommitError) Error() string { return "commit refused: " + c.Errno.Error() }

// Unwrap gives the errno.
func (c *CommitError) Unwrap() error { return c.Errno }

// firstBad is the first rule that the kernel refuses for itself and that is still there, and its chain; without an errno if there is none.
func (e *Edit) firstBad() (badRule, *xtables.Rule, *Slot) {
	if len(e.bad) == 0 {
		return badRule{}, nil, nil
	}
	for _, s := range e.opened {
		for _, r := range s.CurrentRules() {
			if bad := e.bad[r]; bad.errno != 0 {
				return bad, r, s
			}
		}
	}
	return badRule{}, nil, nil
}

// build makes the new table from the base and what changed.
func (e *Edit) build() *Table {
	if e.Context.KeptOtherwise {
		e.keepRules()
	}
	t := &Table{id: &TableID{}, kind: e.Kind, chains: e.Base.chains.edit(len(e.opened)), order: &chainOrder{}, made: e.Made | e.forgotten,
		counted: e.Counted, registered: e.Base.registered, handles: e.handles}
	for _, s := range e.opened {
		if !s.Live {
			if s.base != nil {
				t.chains.remove(s.Name)
			}
			continue
		}
		t.chains.set(s.entry(s.newChain()))
	}
	for _, s := range e.slots {
		if s.Live && !s.draft && (s.Refs != s.base.refs || s.reached != s.base.reached) {
			t.chains.set(s.entry(s.base.chain))
		}
	}
	if e.Dialect == netfilter.Legacy {
		e.resetPolicyCounters(t)
	}
	return t
}

// keepRules makes the rules of the edit what the kernel gives back of them.
func (e *Edit) keepRules() {
	for _, s := range e.opened {
		for i, r := range s.CurrentRules() {
			if other := r.Kept(e.Dialect); other != r {
				e.own(s)
				s.rules[i] = other
			}
		}
	}
}

func (s *Slot) entry(c *Chain) chainEntry {
	return chainEntry{chain: c, hash: hashName(c.Name), refs: s.Refs, reached: s.reached}
}

// newChain is the draft as a chain, the old one if nothing is different.
func (s *Slot) newChain() *Chain {
	if s.Hook != 0 && s.Counters == nil {
		s.Counters = &netfilter.Counters{}
	}
	if s.base != nil {
		c := s.base.chain
		if c.Policy == s.policy && c.Counters == s.Counters && c.handle == s.handle && slices.Equal(c.Rules, s.rules) {
			return c
		}
	}
	return &Chain{Name: s.Name, Policy: s.policy, Rules: slices.Clip(s.rules), Counters: s.Counters, handle: s.handle}
}

// resetPolicyCounters sets the counters of policies to zero unless the edit set
// them: that is what a commit of the legacy tools does.
func (e *Edit) resetPolicyCounters(t *Table) {
	for _, name := range e.Kind.builtins() {
		s := e.SlotOf(name)
		old := t.chains.get(name)
		if s.draft && s.Counters != nil && s.base != nil && s.Counters != s.base.chain.Counters {
			continue
		}
		if old.chain.Counters.Packets() == 0 && old.chain.Counters.Bytes() == 0 {
			continue
		}
		c := *old.chain
		c.Counters = &netfilter.Counters{}
		n := *old
		n.chain = &c
		t.chains.set(n)
	}
}
