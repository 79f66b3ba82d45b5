package ruleset

import (
	"cmp"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// CreateChain adds a chain that must not exist.
func (e *Edit) CreateChain(name string) error {
	s := e.SlotOf(name)
	if s.Live || xtables.IsVerdictName(name) {
		return errChainExists
	}
	e.Touch()
	e.Open(s)
	s.Live, s.Fresh = true, true
	s.rules, s.owned, s.policy, s.Counters, s.handle = nil, true, PolicyNone, nil, e.nextHandle()
	return nil
}

// FlushChain removes all rules of a chain.
func (e *Edit) FlushChain(s *Slot) {
	for _, r := range s.CurrentRules() {
		e.count(r, -1)
	}
	e.Open(s)
	s.rules, s.owned = nil, true
}

// DeleteChain removes a chain that is empty and that no rule jumps to.
func (e *Edit) DeleteChain(name string) error {
	s, err := e.Chain(name)
	switch {
	case err != nil:
		return err
	case e.Dialect == netfilter.NFT && s.Hook != 0:
		return e.deleteBuiltin(s)
	case e.Dialect == netfilter.NFT && (s.Refs > 0 || !e.empty(s)):
		e.Fail(e.Line, ChainDelete, syscall.EBUSY, name)
	case e.Dialect == netfilter.NFT:
	case s.Hook != 0:
		return errDeleteBuiltin
	case s.Refs > 0:
		return errReferenced
	case len(s.CurrentRules()) > 0:
		return errNotEmpty
	}
	e.Open(s)
	s.Live, s.rules = false, nil
	return nil
}

// deleteBuiltin makes a built-in chain as if it had never been used (nft).
func (e *Edit) deleteBuiltin(s *Slot) error {
	switch {
	case s.basePolicy() != PolicyAccept || s.grown():
		return errNotEmpty
	case !e.empty(s):
		e.Fail(e.Line, ChainDelete, syscall.EBUSY, s.Name)
		return nil
	}
	e.Open(s)
	e.Made &^= s.Hook
	e.handles.forget(s.Hook)
	e.Counted &^= s.Hook
	s.rules, s.Counters, s.policy = nil, nil, PolicyAccept
	return nil
}

// made orders the chains that the edit has made; it is 0 of those that were there.
func (s *Slot) made() uint64 {
	if s.Fresh {
		return s.handle
	}
	return 0
}

// grown says that the edit has put a rule into the chain, which the tools then know of.
func (s *Slot) grown() bool {
	old := s.baseRules()
	return slices.ContainsFunc(s.CurrentRules(), func(r *xtables.Rule) bool { return !slices.Contains(old, r) })
}

// basePolicy is the policy that the tools know of a built-in chain: not one that the same input sets.
func (s *Slot) basePolicy() Policy {
	if s.remade {
		return PolicyAccept
	}
	return s.base.chain.Policy
}

// DeleteAllChains removes every user-defined chain, and for the nft tools the built-in ones that do nothing.
func (e *Edit) DeleteAllChains() error {
	var last error
	for _, name := range e.UserChains() {
		if err := e.DeleteChain(name); err != nil {
			last = err
		}
	}
	if last != nil || e.Dialect == netfilter.Legacy {
		// The legacy tools try all chains and tell of the last one that is refused.
		return last
	}
	for _, s := range e.MadeChains() {
		if s.Hook != 0 && s.basePolicy() == PolicyAccept && len(s.CurrentRules()) == 0 {
			if err := e.deleteBuiltin(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// UserChains are the names of the user-defined chains as the edit has them now, sorted. After a restore with -v has emptied a table, the
// nft tools have new chains as they were made: they have read the kernel's before, and sort no more.
func (d *draft) UserChains() []string {
	var names []string
	d.Base.chains.each(func(c *chainEntry) {
		if c.chain.Policy == PolicyNone && d.SlotOf(c.chain.Name).Live {
			names = append(names, c.chain.Name)
		}
	})
	for _, s := range d.opened {
		if s.Live && s.Hook == 0 && s.base == nil {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if d.appends {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(d.SlotOf(a).made(), d.SlotOf(b).made()) })
	}
	return names
}

// AllChains are the built-in chains and then the others, as listings have them.
func (d *draft) AllChains() []*Slot {
	var all []*Slot
	for _, name := range append(d.Kind.builtins(), d.UserChains()...) {
		all = append(all, d.SlotOf(name))
	}
	return all
}

// MadeChains are the chains that exist, as listings have them.
func (e *Edit) MadeChains() []*Slot {
	if !e.Exists {
		return nil
	}
	chains := e.AllChains()
	if e.Dialect == netfilter.NFT {
		chains = slices.DeleteFunc(chains, func(s *Slot) bool { return s.Hook&^e.Made != 0 })
	}
	return chains
}

// MakeBuiltins makes the built-in chain of that name, or all of them: the nft tools do so before they look at chains.
func (e *Edit) MakeBuiltins(name string, one bool) {
	hooks := e.Kind.hooks
	if one {
		hooks = e.Kind.hookOf(name)
	}
	if hooks&^e.Made == 0 {
		return
	}
	e.Touch()
	e.Make(hooks)
	e.Changed = true
}

// Make makes built-in chains be there. One that was forgotten gets the policy of a new chain.
func (e *Edit) Make(hooks xtables.HookMask) {
	e.number(hooks)
	e.Made |= hooks
	if e.forgotten&hooks == 0 {
		return
	}
	for _, name := range e.Kind.builtins() {
		if s := e.SlotOf(name); e.forgotten&hooks&s.Hook != 0 {
			e.Open(s)
			s.policy, s.remade = PolicyAccept, true
		}
	}
	e.forgotten &^= hooks
}

// ForgetBuiltins is what the nft tools do when -v has them empty a table for a restore: they try to delete all built-in chains, and take
// even those for deleted that they leave, since their policy is DROP.
func (e *Edit) ForgetBuiltins() { e.forgotten, e.Made, e.appends = e.Made, 0, true }

// RenameChain gives a chain another name, in every jump as well.
func (e *Edit) RenameChain(from, to string) error {
	old := e.SlotOf(from)
	next := e.SlotOf(to)
	switch {
	case e.Dialect == netfilter.NFT && old.Hook != 0:
		return xtables.BadParameter("not supported: renaming the built-in chain %s, which these tools do and can then not list any more", from)
	case e.Dialect == netfilter.NFT && xtables.IsVerdictName(to):
		return xtables.BadParameter("not supported: a chain with the name of the verdict %s", to)
	case next.Live || xtables.IsVerdictName(to):
		return errRenameExists
	case !old.Live || !e.Exists || old.Hook != 0:
		return ErrNoChain
	case e.Dialect == netfilter.Legacy && len(to) > maxLegacyName:
		return errLongName
	case e.Dialect == netfilter.NFT && len(to) > maxNFTName:
		e.Fail(e.Line, ChainRename, syscall.ERANGE, to)
	case e.Dialect == netfilter.NFT && old.Fresh:
		e.Fail(e.Line, ChainRename, syscall.ENOENT, to)
	case e.Dialect == netfilter.NFT:
		e.renames = append(e.renames, rename{old, next})
		e.Changed = true
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
type rename struct{ from, to *Slot }

// moveChain gives what a chain has to another name.
func (d *draft) moveChain(old, next *Slot) {
	rules := old.CurrentRules()
	d.Open(old)
	d.Open(next)
	next.Live, next.rules, next.policy = true, slices.Clone(rules), PolicyNone
	next.owned, next.handle = true, old.handle
	old.Live, old.rules = false, nil
	for _, s := range d.AllChains() {
		d.retarget(s, old.Name, next)
	}
	next.Refs, old.Refs = next.Refs+old.Refs, 0
}

// retarget replaces the jumps to a chain by jumps to another one.
func (d *draft) retarget(s *Slot, from string, to *Slot) {
	for i, r := range s.CurrentRules() {
		j, ok := r.Target.(*xtables.Jump)
		if !ok || j.Chain != from {
			continue
		}
		d.own(s)
		changed := *r
		changed.Target = to.JumpTo(j.Goto)
		s.rules[i] = &changed
	}
}

// SetPolicy sets the policy of a built-in chain and its counters.
func (e *Edit) SetPolicy(name, policy string, counters *netfilter.Counters) error {
	s := e.SlotOf(name)
	p := policyOf(policy)
	switch {
	case s.Hook == 0 && (e.Dialect == netfilter.Legacy || p != PolicyNone):
		return errNotBuiltin
	case p == PolicyNone:
		return errBadPolicy
	}
	e.Touch()
	e.Make(s.Hook)
	e.Open(s)
	s.policy, s.Counters = p, counters
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
