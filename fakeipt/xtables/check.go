package xtables

import (
	"iter"
	"sync/atomic"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// CheckContext is what the kernel's check of one match or target can see.
type CheckContext struct {
	Family      netfilter.Family
	Dialect     netfilter.Dialect
	Table       string
	Rule        *Rule
	Namespace   *netfilter.Namespace
	RateMatches *atomic.Bool // set once a rule may have had --hashlimit-rate-match
	// Elsewhere says that another machine has had the rule, with what is not here: modules, objects, control groups.
	Elsewhere bool
	// KeptOtherwise says that of some rule the kernel gives back another one.
	KeptOtherwise bool
	// Rules are all that the kernel has or is given with this one, and FamilyRules those of its family.
	Rules, FamilyRules iter.Seq[*Rule]
}

// CheckPart asks a match or a target.
func (c *CheckContext) CheckPart(part any, hooks HookMask) syscall.Errno {
	if k, ok := part.(keptOtherwise); ok && !c.Elsewhere {
		_, otherwise := k.Kept(c.Dialect)
		c.KeptOtherwise = c.KeptOtherwise || otherwise
	}
	if l, ok := part.(hookLimited); ok && hooks&^l.AllowedHooks(false) != 0 {
		return syscall.EINVAL
	}
	if k, ok := part.(checker); ok {
		return k.Check(c)
	}
	return 0
}

// checker is a match or target that the kernel may refuse wherever the chain is.
type checker interface {
	Check(c *CheckContext) syscall.Errno
}

// hookLimited is a match or target that may only be used in chains which certain hooks reach.
type hookLimited interface {
	// AllowedHooks are those hooks. hidden is set for a user-defined chain of the nft tools: the kernel then holds the
	// hooks that an extension is registered for, but does not show the hooks to a check of its own.
	AllowedHooks(hidden bool) HookMask
}

// keptOtherwise is a match or target of which the kernel may give back another one than it was given.
type keptOtherwise interface {
	Kept(d netfilter.Dialect) (any, bool)
}

// absentExtension is a match or target that the kernel may not have.
type absentExtension interface {
	absent(d netfilter.Dialect) syscall.Errno
}

// Absent looks for all matches and the target, as the nft tools have the kernel do before it checks the first.
func (r *Rule) Absent() syscall.Errno {
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

// WantProto is the kernel's check of a match that needs its protocol.
func (c *CheckContext) WantProto(number uint16) syscall.Errno {
	if c.Rule.Proto.Number != number || c.Rule.Proto.Invert {
		return syscall.EINVAL
	}
	return 0
}

// WantTable is the kernel's check of a target that belongs to one table.
func (c *CheckContext) WantTable(name string) syscall.Errno {
	if c.Table != name {
		return syscall.EINVAL
	}
	return 0
}

// WantSet is the kernel's check of a set that a rule names.
func (c *CheckContext) WantSet(r ipset.Ref) syscall.Errno {
	if r.Set != "" && !c.Namespace.Sets().Has(r.Set) {
		return syscall.ENOENT
	}
	return 0
}

// WantSecurityTable is the kernel's check of targets about security marks.
func (c *CheckContext) WantSecurityTable() syscall.Errno {
	if c.Table != "mangle" {
		return c.WantTable("security")
	}
	return 0
}

// Unconditional says that every packet matches.
func (r *Rule) Unconditional() bool {
	return r.Src == nil && r.Dst == nil && r.In == nil && r.Out == nil && r.Proto == (ProtoMatch{}) &&
		r.Fragment == FragmentAny && len(r.Matches) == 0
}

// AllowedHooks are the hooks from which the rule may be reached; hidden is that of hookLimited.
func AllowedHooks(r *Rule, hidden bool) HookMask {
	hooks := HooksAll
	for _, m := range r.Matches {
		if l, ok := m.(hookLimited); ok {
			hooks &= l.AllowedHooks(hidden)
		}
	}
	if l, ok := r.Target.(hookLimited); ok {
		hooks &= l.AllowedHooks(hidden)
	}
	return hooks
}
