package ruleset

import (
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// A jump counts for the kernel only if a packet can come to it: from a hook,
// through chains, past rules that decide. For each chain the table keeps how many
// rules lead to it from chains that a hook reaches, hook by hook, so that a commit
// follows only what it changed. Counting alone keeps a circle alive that has lost
// its last way in; so whatever looks wrong is looked at again from the hooks.

// edges calls f for every jump of the rules that can be come to.
func edges(rules []*xtables.Rule, d netfilter.Dialect, f func(*xtables.Jump)) {
	for _, r := range rules {
		switch t := r.Target.(type) {
		case *xtables.Jump:
			f(t)
		case *xtables.TargetVerdict, *xtables.Queue:
			// The legacy kernel code does not look behind a rule that always decides.
			if d == netfilter.Legacy && r.Unconditional() {
				return
			}
		}
	}
}

// chainHooks are the hooks from which all rules may be reached.
func chainHooks(rules []*xtables.Rule, d netfilter.Dialect) xtables.HookMask {
	hooks := xtables.HooksAll
	for _, r := range rules {
		hooks &= xtables.AllowedHooks(r, d == netfilter.NFT)
		if d == netfilter.Legacy && xtables.IsVerdict(r.Target) && r.Unconditional() {
			break
		}
	}
	return hooks
}

// newEdge is a jump that was not there before.
type newEdge struct {
	from, to *Slot
}

// update brings the counts of every chain up to date and makes the checks that
// depend on where chains are reached from: EINVAL for a rule that a hook may not
// come to, ELOOP for a circle.
func (d *draft) update() syscall.Errno {
	fresh, work := d.changedEdges()
	reached, done := d.spread(work)
	if done && d.hooksAllowed(reached) && !d.circle(fresh) {
		return 0
	}
	return d.fullUpdate()
}

// changedEdges counts the jumps of changed chains, and returns those that are new
// and the chains whose count may have changed.
func (d *draft) changedEdges() (fresh []newEdge, work []*Slot) {
	for i, s := range d.opened {
		stamp := int32(i + 1)
		mask := s.applied
		edges(s.baseRules(), d.Dialect, func(j *xtables.Jump) {
			t := d.SlotOf(j.Chain)
			t.stamp = stamp
			if mask != 0 {
				t.reached.add(mask, -1)
				work = append(work, t)
			}
		})
		edges(s.CurrentRules(), d.Dialect, func(j *xtables.Jump) {
			t := d.SlotOf(j.Chain)
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
func (d *draft) spread(work []*Slot) (reached []*Slot, done bool) {
	reached = append(reached, d.opened...)
	budget := 64 + 16*(len(work)+d.Base.chains.count+len(d.opened))
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
			edges(s.CurrentRules(), d.Dialect, func(j *xtables.Jump) {
				t := d.SlotOf(j.Chain)
				t.reached.add(change, n)
				work, touched = append(work, t), append(touched, t)
			})
		}
		work = touched
	}
	return reached, true
}

// hooksAllowed says whether every rule of the chains may be reached from the hooks that do.
func (d *draft) hooksAllowed(chains []*Slot) bool {
	for _, s := range chains {
		if s.Live && s.applied != 0 && s.applied&^chainHooks(s.CurrentRules(), d.Dialect) != 0 {
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
func (d *draft) circle(fresh []newEdge) bool {
	for _, edge := range fresh {
		if edge.from.applied != 0 && d.circleFrom(edge.to) {
			return true
		}
	}
	return false
}

// pathStep is a chain on the path of the search and the jumps of it that are left.
type pathStep struct {
	slot *Slot
	left []*Slot
}

// circleFrom follows every way from a chain, without recursion since chains may be many.
func (d *draft) circleFrom(start *Slot) bool {
	if start.search == finished {
		return false
	}
	path := []pathStep{d.step(start)}
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
			path = append(path, d.step(next))
		}
	}
	return false
}

func (d *draft) step(s *Slot) pathStep {
	s.search = onPath
	p := pathStep{slot: s}
	edges(s.CurrentRules(), d.Dialect, func(j *xtables.Jump) {
		if t := d.SlotOf(j.Chain); t.search != finished {
			p.left = append(p.left, t)
		}
	})
	return p
}

// fullUpdate forgets all counts and starts from the hooks.
func (d *draft) fullUpdate() syscall.Errno {
	d.Base.chains.each(func(c *chainEntry) { d.SlotOf(c.chain.Name) })
	for _, s := range d.slots {
		s.reached, s.applied, s.search = hookCounts{}, 0, unseen
	}
	var work []*Slot
	for _, name := range d.Kind.builtins() {
		s := d.SlotOf(name)
		s.reached.add(s.Hook, 1)
		work = append(work, s)
	}
	for _, s := range work {
		if d.circleFrom(s) {
			return syscall.ELOOP
		}
	}
	reached := d.spreadAll(work)
	if !d.hooksAllowed(reached) {
		return syscall.EINVAL
	}
	return 0
}

// spreadAll is spread for a table without circles, where it always ends.
func (d *draft) spreadAll(work []*Slot) []*Slot {
	var reached []*Slot
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		gained := s.reached.mask() &^ s.applied
		if gained == 0 {
			continue
		}
		s.applied |= gained
		reached = append(reached, s)
		edges(s.CurrentRules(), d.Dialect, func(j *xtables.Jump) {
			t := d.SlotOf(j.Chain)
			t.reached.add(gained, 1)
			work = append(work, t)
		})
	}
	return reached
}
