package fakeipt

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

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
	case e.dialect == netfilter.NFT && s.hook != 0:
		return e.deleteBuiltin(s)
	case e.dialect == netfilter.NFT && (s.refs > 0 || !e.empty(s)):
		e.fail(e.line, batchDeleteChain, syscall.EBUSY, name)
	case e.dialect == netfilter.NFT:
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
func (s *chainSlot) basePolicy() Policy {
	if s.remade {
		return PolicyAccept
	}
	return s.base.chain.Policy
}

// deleteAllChains removes every user-defined chain, and for the nft tools the built-in ones that do nothing.
func (e *tableEdit) deleteAllChains() error {
	var last error
	for _, name := range e.userChains() {
		if err := e.deleteChain(name); err != nil {
			last = err
		}
	}
	if last != nil || e.dialect == netfilter.Legacy {
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
	if e.dialect == netfilter.NFT {
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
	e.make(hooks)
	e.changed = true
}

// make makes built-in chains be there. One that was forgotten gets the policy of a new chain.
func (e *tableEdit) make(hooks hookMask) {
	e.made |= hooks
	if e.forgotten&hooks == 0 {
		return
	}
	for _, name := range e.kind.builtins() {
		if s := e.slotOf(name); e.forgotten&hooks&s.hook != 0 {
			e.open(s)
			s.policy, s.remade = PolicyAccept, true
		}
	}
	e.forgotten &^= hooks
}

// forgetBuiltins is what the nft tools do when -v has them empty a table for a restore: they try to delete all built-in chains, and take
// even those for deleted that they leave, since their policy is DROP.
func (e *tableEdit) forgetBuiltins() { e.forgotten, e.made = e.made, 0 }

// renameChain gives a chain another name, in every jump as well.
func (e *tableEdit) renameChain(from, to string) error {
	old := e.slotOf(from)
	next := e.slotOf(to)
	switch {
	case e.dialect == netfilter.NFT && old.hook != 0:
		return badParameter("not supported: renaming the built-in chain %s, which these tools do and can then not list any more", from)
	case e.dialect == netfilter.NFT && isVerdictName(to):
		return badParameter("not supported: a chain with the name of the verdict %s", to)
	case next.live || isVerdictName(to):
		return errRenameExists
	case !old.live || !e.exists || old.hook != 0:
		return errNoChain
	case e.dialect == netfilter.Legacy && len(to) > maxLegacyName:
		return errLongName
	case e.dialect == netfilter.NFT && len(to) > maxNFTName:
		e.fail(e.line, batchRenameChain, syscall.ERANGE, to)
	case e.dialect == netfilter.NFT && old.fresh:
		e.fail(e.line, batchRenameChain, syscall.ENOENT, to)
	case e.dialect == netfilter.NFT:
		e.renames = append(e.renames, rename{old, next})
		e.changed = true
	default:
		e.moveChain(old, next)
	}
	return nil
}

// The kernel has room for names of these lengths, to which a chain can be renamed; new ones must be shorter.
const (
	maxLegacyName = 31
	maxNFTName    = 255
)

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

// setPolicy sets the policy of a built-in chain and its counters.
func (e *tableEdit) setPolicy(name, policy string, counters *netfilter.Counters) error {
	s := e.slotOf(name)
	p := policyOf(policy)
	switch {
	case s.hook == 0 && (e.dialect == netfilter.Legacy || p != PolicyNone):
		return errNotBuiltin
	case p == PolicyNone:
		return errBadPolicy
	}
	e.touch()
	e.make(s.hook)
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
