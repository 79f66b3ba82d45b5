package fakeipt

import "syscall"

// validation walks a table as the kernel does for the nft tools: from each hook, rule by rule, into each chain that is
// jumped to. It ends at the first thing that is wrong.
type validation struct {
	edit *tableEdit
	hook hookMask
	done map[*chainSlot]bool // nothing is wrong there
	path map[*chainSlot]bool
}

// validate returns EINVAL for a rule that a hook may not come to, and EMLINK for a circle.
func (e *tableEdit) validate() syscall.Errno {
	for _, s := range e.hookChains() {
		v := validation{edit: e, hook: s.hook, done: map[*chainSlot]bool{}, path: map[*chainSlot]bool{}}
		if errno := v.chain(s); errno != 0 {
			return errno
		}
	}
	return 0
}

// hookChains are the built-in chains in the order in which they were made, as far as that is known.
func (e *tableEdit) hookChains() []*chainSlot {
	var chains []*chainSlot
	for _, name := range e.kind.builtins() {
		if s := e.slotOf(name); e.base.made&s.hook != 0 {
			chains = append(chains, s)
		}
	}
	for _, s := range e.drafts {
		if s.hook&^e.base.made != 0 {
			chains = append(chains, s)
		}
	}
	return chains
}

// chain goes no deeper than the path without a circle, which is no longer than the kernel's own limit of jumps.
func (v *validation) chain(s *chainSlot) syscall.Errno {
	switch {
	case v.done[s]:
		return 0
	case v.path[s]:
		return syscall.EMLINK
	}
	v.path[s] = true
	for _, r := range s.currentRules() {
		if v.hook&^ruleHooks(r, true) != 0 {
			return syscall.EINVAL
		}
		if j, ok := r.Target.(*Jump); ok {
			if errno := v.chain(v.edit.slotOf(j.Chain)); errno != 0 {
				return errno
			}
		}
	}
	delete(v.path, s)
	v.done[s] = true
	return 0
}
