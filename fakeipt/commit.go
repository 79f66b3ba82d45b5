package fakeipt

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// commit makes the kernel's checks and returns the new table; nil if there is no table now.
// The edit must not be used afterwards.
func (e *tableEdit) commit() (*Table, error) {
	if !e.exists {
		return nil, e.batchFailure()
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
func (e *tableEdit) verify() error {
	if len(e.failures) > 0 {
		return e.batchFailure()
	}
	bad, rule, chain := e.firstBad()
	errno := e.update()
	switch {
	case bad.errno != 0 && errno == syscall.ELOOP:
		return &commitError{errno: errno}
	case bad.errno != 0:
		// What of the rule the kernel comes to first may be one that the hooks of the chain forbid.
		return &commitError{errno: e.check(rule, chain.reached.mask()), line: bad.line}
	case errno == 0:
		return nil
	case e.dialect == netfilter.Legacy:
		return &commitError{errno: errno}
	}
	e.blame()
	return e.batchFailure()
}

// commitError is a table that the kernel refused as a whole (legacy), or the changes it refused (nft).
type commitError struct {
	errno    syscall.Errno
	line     int // of the input that the refusal is about, 0: not known
	failures []batchError
}

func (c *commitError) Error() string { return "commit refused: " + c.errno.Error() }

// Unwrap gives the errno.
func (c *commitError) Unwrap() error { return c.errno }

// firstBad is the first rule that the kernel refuses for itself and that is still there, and its chain; without an errno if there is none.
func (e *tableEdit) firstBad() (badRule, *Rule, *chainSlot) {
	if len(e.bad) == 0 {
		return badRule{}, nil, nil
	}
	for _, s := range e.drafts {
		for _, r := range s.currentRules() {
			if bad := e.bad[r]; bad.errno != 0 {
				return bad, r, s
			}
		}
	}
	return badRule{}, nil, nil
}

// build makes the new table from the base and what changed.
func (e *tableEdit) build() *Table {
	if e.context.keptOtherwise {
		e.keepRules()
	}
	t := &Table{id: &TableID{}, kind: e.kind, chains: e.base.chains.edit(len(e.drafts)), order: &chainOrder{}, made: e.made | e.forgotten,
		counted: e.counted, registered: e.base.registered}
	for _, s := range e.drafts {
		if !s.live {
			if s.base != nil {
				t.chains.remove(s.name)
			}
			continue
		}
		t.chains.set(s.entry(s.newChain()))
	}
	for _, s := range e.slots {
		if s.live && !s.draft && (s.refs != s.base.refs || s.reached != s.base.reached) {
			t.chains.set(s.entry(s.base.chain))
		}
	}
	if e.dialect == netfilter.Legacy {
		e.resetPolicyCounters(t)
	}
	return t
}

// keepRules makes the rules of the edit what the kernel gives back of them.
func (e *tableEdit) keepRules() {
	for _, s := range e.drafts {
		for i, r := range s.currentRules() {
			if other := r.kept(e.dialect); other != r {
				e.own(s)
				s.rules[i] = other
			}
		}
	}
}

func (s *chainSlot) entry(c *Chain) chainEntry {
	return chainEntry{chain: c, hash: hashName(c.Name), refs: s.refs, reached: s.reached}
}

// newChain is the draft as a chain, the old one if nothing is different.
func (s *chainSlot) newChain() *Chain {
	if s.hook != 0 && s.counters == nil {
		s.counters = &netfilter.Counters{}
	}
	if s.base != nil {
		c := s.base.chain
		if c.Policy == s.policy && c.Counters == s.counters && slices.Equal(c.Rules, s.rules) {
			return c
		}
	}
	return &Chain{Name: s.name, Policy: s.policy, Rules: slices.Clip(s.rules), Counters: s.counters}
}

// resetPolicyCounters sets the counters of policies to zero unless the edit set
// them: that is what a commit of the legacy tools does.
func (e *tableEdit) resetPolicyCounters(t *Table) {
	for _, name := range e.kind.builtins() {
		s := e.slotOf(name)
		old := t.chains.get(name)
		if s.draft && s.counters != nil && s.base != nil && s.counters != s.base.chain.Counters {
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

// commit checks an edit and makes its table the current one.
func (k *Kernel) commit(f netfilter.Family, e *tableEdit) error {
	t, err := e.commit()
	switch {
	case err != nil:
		return err
	case t != nil:
		k.store(f, t)
	case e.flushed:
		k.drop(f, e.kind)
	}
	return nil
}
