package fakeipt

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// A jump counts for the kernel only if a packet can come to it: from a hook,
// through chains, past rules that decide. For each chain the table keeps how many
// rules lead to it from chains that a hook reaches, hook by hook, so that a commit
// follows only what it changed. Counting alone keeps a circle alive that has lost
// its last way in; so whatever looks wrong is looked at again from the hooks.

// edges calls f for every jump of the rules that can be come to.
func edges(rules []*Rule, d netfilter.Dialect, f func(*Jump)) {
	for _, r := range rules {
		switch t := r.Target.(type) {
		case *Jump:
			f(t)
		case *Verdict, *TargetQueue:
			// The legacy kernel code does not look behind a rule that always decides.
			if d == netfilter.Legacy && r.unconditional() {
				return
			}
		}
	}
}

// unconditional says that every packet matches.
func (r *Rule) unconditional() bool {
	return r.Src == nil && r.Dst == nil && r.In == nil && r.Out == nil && r.Proto == (ProtoMatch{}) &&
		r.Fragment == FragmentAny && len(r.Matches) == 0
}

// ruleHooks are the hooks from which the rule may be reached; hidden is that of hookLimited.
func ruleHooks(r *Rule, hidden bool) hookMask {
	hooks := hooksAll
	for _, m := range r.Matches {
		if l, ok := m.(hookLimited); ok {
			hooks &= l.allowedHooks(hidden)
		}
	}
	if l, ok := r.Target.(hookLimited); ok {
		hooks &= l.allowedHooks(hidden)
	}
	return hooks
}

// chainHooks are the hooks from which all rules may be reached.
func chainHooks(rules []*Rule, d netfilter.Dialect) hookMask {
	hooks := hooksAll
	for _, r := range rules {
		hooks &= ruleHooks(r, d == netfilter.NFT)
		if d == netfilter.Legacy && isVerdict(r.Target) && r.unconditional() {
			break
		}
	}
	return hooks
}

// newEdge is a jump that was not there before.
type newEdge struct {
	from, to *chainSlot
}

// update brings the counts of every chain up to date and makes the checks that
// depend on where chains are reached from: EINVAL for a rule that a hook may not
// come to, ELOOP for a circle.
func (e *tableEdit) update() syscall.Errno {
	fresh, work := e.changedEdges()
	reached, done := e.spread(work)
	if done && e.hooksAllowed(reached) && !e.circle(fresh) {
		return 0
	}
	return e.fullUpdate()
}

// changedEdges counts the jumps of changed chains, and returns those that are new
// and the chains whose count may have changed.
func (e *tableEdit) changedEdges() (fresh []newEdge, work []*chainSlot) {
	for i, s := range e.drafts {
		stamp := int32(i + 1)
		mask := s.applied
		edges(s.baseRules(), e.dialect, func(j *Jump) {
			t := e.slotOf(j.Chain)
			t.stamp = stamp
			if mask != 0 {
				t.reached.add(mask, -1)
				work = append(work, t)
			}
		})
		edges(s.currentRules(), e.dialect, func(j *Jump) {
			t := e.slotOf(j.Chain)
			if t.stamp != stamp {
				fresh = append(fresh, newEdge{s, t})
			}
			if mask != 0 {
				t.reached.add(mask, 1)
				work = append(work, t)
			}
		})
	}
	return fresh, work
}

// spread passes changes of the hooks that reach a chain on to the chains it jumps to. It
// returns the chains that were changed or are reached from another hook. A walk that
// does not come to an end is given up. What is lost goes first: a chain that loses its last way in may
// have been counted for a chain with a circle that nothing else comes to, which would then hold itself.
func (e *tableEdit) spread(work []*chainSlot) (reached []*chainSlot, done bool) {
	reached = append(reached, e.drafts...)
	budget := 64 + 16*(len(work)+e.base.chains.count+len(e.drafts))
	touched := slices.Clone(work)
	for _, gains := range [...]bool{false, true} {
		for len(work) > 0 {
			if budget--; budget < 0 {
				return nil, false
			}
			s := work[len(work)-1]
			work = work[:len(work)-1]
			change, n := s.applied&^s.reached.mask(), int32(-1)
			if gains {
				change, n = s.reached.mask()&^s.applied, 1
			}
			if change == 0 {
				continue
			}
			s.applied ^= change
			reached = append(reached, s)
			edges(s.currentRules(), e.dialect, func(j *Jump) {
				t := e.slotOf(j.Chain)
				t.reached.add(change, n)
				work, touched = append(work, t), append(touched, t)
			})
		}
		work = touched
	}
	return reached, true
}

// hooksAllowed says whether every rule of the chains may be reached from the hooks that do.
func (e *tableEdit) hooksAllowed(chains []*chainSlot) bool {
	for _, s := range chains {
		if s.live && s.applied != 0 && s.applied&^chainHooks(s.currentRules(), e.dialect) != 0 {
			return false
		}
	}
	return true
}

// The states of a chain in a search for circles.
const (
	unseen uint8 = iota
	onPath
	finished
)

// circle says whether a packet can come back to a chain it is in. A new circle has a new jump in it.
func (e *tableEdit) circle(fresh []newEdge) bool {
	for _, edge := range fresh {
		if edge.from.applied != 0 && e.circleFrom(edge.to) {
			return true
		}
	}
	return false
}

// pathStep is a chain on the path of the search and the jumps of it that are left.
type pathStep struct {
	slot *chainSlot
	left []*chainSlot
}

// circleFrom follows every way from a chain, without recursion since chains may be many.
func (e *tableEdit) circleFrom(start *chainSlot) bool {
	if start.search == finished {
		return false
	}
	path := []pathStep{e.step(start)}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if len(top.left) == 0 {
			top.slot.search = finished
			path = path[:len(path)-1]
			continue
		}
		next := top.left[len(top.left)-1]
		top.left = top.left[:len(top.left)-1]
		switch next.search {
		case onPath:
			return true
		case unseen:
			path = append(path, e.step(next))
		}
	}
	return false
}

func (e *tableEdit) step(s *chainSlot) pathStep {
	s.search = onPath
	p := pathStep{slot: s}
	edges(s.currentRules(), e.dialect, func(j *Jump) {
		if t := e.slotOf(j.Chain); t.search != finished {
			p.left = append(p.left, t)
		}
	})
	return p
}

// fullUpdate forgets all counts and starts from the hooks.
func (e *tableEdit) fullUpdate() syscall.Errno {
	e.base.chains.each(func(c *chainEntry) { e.slotOf(c.chain.Name) })
	for _, s := range e.slots {
		s.reached, s.applied, s.search = hookCounts{}, 0, unseen
	}
	var work []*chainSlot
	for _, name := range e.kind.builtins() {
		s := e.slotOf(name)
		s.reached.add(s.hook, 1)
		work = append(work, s)
	}
	for _, s := range work {
		if e.circleFrom(s) {
			return syscall.ELOOP
		}
	}
	reached := e.spreadAll(work)
	if !e.hooksAllowed(reached) {
		return syscall.EINVAL
	}
	return 0
}

// spreadAll is spread for a table without circles, where it always ends.
func (e *tableEdit) spreadAll(work []*chainSlot) []*chainSlot {
	var reached []*chainSlot
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		gained := s.reached.mask() &^ s.applied
		if gained == 0 {
			continue
		}
		s.applied |= gained
		reached = append(reached, s)
		edges(s.currentRules(), e.dialect, func(j *Jump) {
			t := e.slotOf(j.Chain)
			t.reached.add(gained, 1)
			work = append(work, t)
		})
	}
	return reached
}
