package ruleset

import (
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// validation walks a table as the kernel does for the nft tools: from each hook, rule by rule, into each chain that is
// jumped to. It ends at the first thing that is wrong.
type validation struct {
	draft *draft
	hook  xtables.HookMask
	done  map[*Slot]bool // nothing is wrong there
	path  map[*Slot]bool
}

// validate returns EINVAL for a rule that a hook may not come to, and EMLINK for a circle.
func (d *draft) validate() syscall.Errno {
	for _, s := range d.hookChains() {
		v := validation{draft: d, hook: s.Hook, done: map[*Slot]bool{}, path: map[*Slot]bool{}}
		if errno := v.chain(s); errno != 0 {
			return errno
		}
	}
	return 0
}

// hookChains are the built-in chains in the order in which they were made, as far as that is known.
func (d *draft) hookChains() []*Slot {
	var chains []*Slot
	for _, name := range d.Kind.builtins() {
		if s := d.SlotOf(name); d.Base.made&s.Hook != 0 {
			chains = append(chains, s)
		}
	}
	for _, s := range d.opened {
		if s.Hook&^d.Base.made != 0 {
			chains = append(chains, s)
		}
	}
	return chains
}

// chain goes no deeper than the path without a circle, which is no longer than the kernel's own limit of jumps.
func (v *validation) chain(s *Slot) syscall.Errno {
	switch {
	case v.done[s]:
		return 0
	case v.path[s]:
		return syscall.EMLINK
	}
	v.path[s] = true
	for _, r := range s.CurrentRules() {
		if v.hook&^xtables.AllowedHooks(r, true) != 0 {
			return syscall.EINVAL
		}
		if j, ok := r.Target.(*xtables.Jump); ok {
			if errno := v.chain(v.draft.SlotOf(j.Chain)); errno != 0 {
				return errno
			}
		}
	}
	delete(v.path, s)
	v.done[s] = true
	return 0
}
