package ruleset

import (
	"iter"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Admit makes the kernel's checks of a rule that do not depend on the rest of the table.
func (e *Edit) Admit(s *Slot, r *xtables.Rule, kind Change) {
	hooks := s.Hook // of a user-defined chain the kernel looks at them when the table is whole
	if e.Dialect == netfilter.Legacy {
		hooks = 0
	}
	errno := e.check(r, hooks)
	if e.Dialect == netfilter.Legacy {
		if errno != 0 {
			e.setBad(r, errno)
		}
		return
	}
	if errno != 0 {
		// The kernel goes on without the rule.
		e.setBad(r, errno)
		e.count(r, -1)
		e.Fail(e.Line, kind, errno, s.Name)
		return
	}
	e.added = append(e.added, batchOp{rule: r, slot: s, line: int32(e.Line), kind: kind})
}

// empty says that no rule is in the chain, but for those that the kernel refused.
func (e *Edit) empty(s *Slot) bool {
	for _, r := range s.CurrentRules() {
		if !e.refused(r) {
			return false
		}
	}
	return true
}

// allRules are all rules that the kernel has of some families, and those of the edit that come with the same table, but for those that were
// refused.
func (e *Edit) allRules(in *Surroundings, families ...netfilter.Family) iter.Seq[*xtables.Rule] {
	return func(yield func(*xtables.Rule) bool) {
		for _, rs := range in.Rulesets() {
			if !slices.Contains(families, rs.family) {
				continue
			}
			for _, t := range rs.Tables() {
				for c := range t.Chains() {
					if !e.yieldRules(c.Rules, yield) {
						return
					}
				}
			}
		}
		for _, s := range e.opened {
			if !e.yieldRules(s.rules, yield) {
				return
			}
		}
	}
}

func (e *Edit) yieldRules(rules []*xtables.Rule, yield func(*xtables.Rule) bool) bool {
	for _, r := range rules {
		if !e.refused(r) && !yield(r) {
			return false
		}
	}
	return true
}

// check asks every match and the target of a rule in a chain that these hooks reach: for each whether it may be there, and then itself.
func (e *Edit) check(r *xtables.Rule, hooks xtables.HookMask) syscall.Errno {
	c := &e.Context
	c.Rule = r
	if e.Dialect == netfilter.NFT && (neverMatches(r.Src) || neverMatches(r.Dst)) {
		return syscall.EINVAL
	}
	if e.Dialect == netfilter.NFT {
		if errno := r.Absent(); errno != 0 {
			return errno
		}
	}
	for _, m := range r.Matches {
		if errno := c.CheckPart(m, hooks); errno != 0 {
			return errno
		}
	}
	if t, ok := r.Target.(*xtables.Jump); ok && e.Kind.hookOf(t.Chain) != 0 {
		if e.Made&e.Kind.hookOf(t.Chain) == 0 {
			return syscall.ENOENT
		}
		return syscall.EOPNOTSUPP
	}
	return c.CheckPart(r.Target, hooks)
}

// neverMatches is an inverted address with an empty mask, for which nft has no expression.
func neverMatches(m *xtables.AddrMatch) bool {
	return m != nil && m.Invert && xtables.MaskBits(m.Mask) == 0
}
