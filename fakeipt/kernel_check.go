package fakeipt

import (
	"iter"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// admit makes the kernel's checks of a rule that do not depend on the rest of the table.
func (e *tableEdit) admit(s *chainSlot, r *Rule, kind batchKind) {
	hooks := s.hook // of a user-defined chain the kernel looks at them when the table is whole
	if e.dialect == netfilter.Legacy {
		hooks = 0
	}
	errno := e.check(r, hooks)
	if e.dialect == netfilter.Legacy {
		if errno != 0 {
			e.setBad(r, errno)
		}
		return
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

// badRule is why the kernel refuses a rule for itself, and the line of input that it is from.
type badRule struct {
	errno syscall.Errno
	line  int
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

// allRules are all rules that the kernel has of some families, and those of the edit that come with the same table, but for those that were
// refused.
func (e *tableEdit) allRules(k *Kernel, families ...netfilter.Family) iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, rs := range k.allRulesets() {
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
		for _, s := range e.drafts {
			if !e.yieldRules(s.rules, yield) {
				return
			}
		}
	}
}

func (e *tableEdit) yieldRules(rules []*Rule, yield func(*Rule) bool) bool {
	for _, r := range rules {
		if e.bad[r].errno == 0 && !yield(r) {
			return false
		}
	}
	return true
}

// check asks every match and the target of a rule in a chain that these hooks reach: for each whether it may be there, and then itself.
func (e *tableEdit) check(r *Rule, hooks hookMask) syscall.Errno {
	c := &e.context
	c.rule = r
	if e.dialect == netfilter.NFT && (neverMatches(r.Src) || neverMatches(r.Dst)) {
		return syscall.EINVAL
	}
	if e.dialect == netfilter.NFT {
		if errno := r.absent(); errno != 0 {
			return errno
		}
	}
	for _, m := range r.Matches {
		if errno := c.checkPart(m, hooks); errno != 0 {
			return errno
		}
	}
	if t, ok := r.Target.(*Jump); ok && e.kind.hookOf(t.Chain) != 0 {
		if e.made&e.kind.hookOf(t.Chain) == 0 {
			return syscall.ENOENT
		}
		return syscall.EOPNOTSUPP
	}
	return c.checkPart(r.Target, hooks)
}

// checkPart asks a match or a target.
func (c *checkContext) checkPart(part any, hooks hookMask) syscall.Errno {
	if k, ok := part.(keptOtherwise); ok && !c.elsewhere {
		_, otherwise := k.kept(c.dialect)
		c.keptOtherwise = c.keptOtherwise || otherwise
	}
	if l, ok := part.(hookLimited); ok && hooks&^l.allowedHooks(false) != 0 {
		return syscall.EINVAL
	}
	if k, ok := part.(checker); ok {
		return k.check(c)
	}
	return 0
}

// absentExtension is a match or target that the kernel may not have.
type absentExtension interface {
	absent(d netfilter.Dialect) syscall.Errno
}

// absent looks for all matches and the target, as the nft tools have the kernel do before it checks the first.
func (r *Rule) absent() syscall.Errno {
	for _, m := range r.Matches {
		if a, ok := m.(absentExtension); ok {
			return a.absent(netfilter.NFT)
		}
	}
	if a, ok := r.Target.(absentExtension); ok {
		return a.absent(netfilter.NFT)
	}
	return 0
}

// neverMatches is an inverted address with an empty mask, for which nft has no expression.
func neverMatches(m *AddrMatch) bool {
	return m != nil && m.Invert && maskBits(m.Mask) == 0
}

// checkContext is what the kernel's check of one match or target can see.
type checkContext struct {
	family      netfilter.Family
	dialect     netfilter.Dialect
	table       *tableKind
	rule        *Rule
	namespace   *netfilter.Namespace
	rateMatches *atomic.Bool // that of Kernel
	// elsewhere says that another machine has had the rule, with what is not here: modules, objects, control groups.
	elsewhere bool
	// keptOtherwise says that of some rule the kernel gives back another one.
	keptOtherwise bool
	// rules are all that the kernel has or is given with this one, and familyRules those of its family.
	rules, familyRules iter.Seq[*Rule]
}

// checker is a match or target that the kernel may refuse wherever the chain is.
type checker interface {
	check(c *checkContext) syscall.Errno
}

// hookLimited is a match or target that may only be used in chains which certain hooks reach.
type hookLimited interface {
	// allowedHooks are those hooks. hidden is set for a user-defined chain of the nft tools: the kernel then holds the
	// hooks that an extension is registered for, but does not show the hooks to a check of its own.
	allowedHooks(hidden bool) hookMask
}

// wantProto is the kernel's check of a match that needs its protocol.
func (c *checkContext) wantProto(number uint16) syscall.Errno {
	if c.rule.Proto.Number != number || c.rule.Proto.Invert {
		return syscall.EINVAL
	}
	return 0
}

// wantTable is the kernel's check of a target that belongs to one table.
func (c *checkContext) wantTable(name string) syscall.Errno {
	if c.table.name != name {
		return syscall.EINVAL
	}
	return 0
}
