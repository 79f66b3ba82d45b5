package ruleset

import (
	"bytes"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// JumpTo returns the target that jumps to the slot's chain.
func (s *Slot) JumpTo(isGoto bool) *xtables.Jump {
	if isGoto {
		if s.jumpGoto == nil {
			s.jumpGoto = &xtables.Jump{Chain: s.Name, Goto: true}
		}
		return s.jumpGoto
	}
	if s.jump == nil {
		s.jump = &xtables.Jump{Chain: s.Name}
	}
	return s.jump
}

// count adds n to the references of the chain that the rule jumps to, if it does.
func (d *draft) count(r *xtables.Rule, n int32) {
	if j, ok := r.Target.(*xtables.Jump); ok {
		d.SlotOf(j.Chain).Refs += n
	}
}

// ordinaryChain is the number of rules of most chains.
const ordinaryChain = 3

// Insert puts a rule before the one with that index; the length of the chain appends it.
func (e *Edit) Insert(s *Slot, index int, r *xtables.Rule) {
	e.Touch()
	r.Handle = e.nextHandle()
	e.own(s)
	if index == len(s.rules) {
		if s.rules == nil {
			s.rules = make([]*xtables.Rule, 0, ordinaryChain)
		}
		s.rules = append(s.rules, r)
	} else {
		s.rules = slices.Insert(s.rules, index, r)
	}
	e.count(r, 1)
}

// FailOn notes a change of the nft tools that names a rule which the kernel has refused within the same input.
func (e *Edit) FailOn(r *xtables.Rule, kind Change, s *Slot) {
	if e.Dialect == netfilter.NFT && e.refused(r) {
		e.Fail(e.Line, kind, syscall.ENOENT, s.Name)
	}
}

// Replace puts a rule in the place of another one.
func (d *draft) Replace(s *Slot, index int, r *xtables.Rule) {
	d.own(s)
	r.Handle = s.rules[index].Handle
	d.count(s.rules[index], -1)
	s.rules[index] = r
	d.count(r, 1)
}

// Remove deletes the rule with that index. The nft tools ask the kernel for it even if it has refused that rule.
func (e *Edit) Remove(s *Slot, index int) {
	e.FailOn(s.CurrentRules()[index], RuleDelete, s)
	e.own(s)
	e.count(s.rules[index], -1)
	s.rules = slices.Delete(s.rules, index, index+1)
}

// FindRule returns the index of the first rule equal to r, -1 if there is none.
func (d *draft) FindRule(s *Slot, r *xtables.Rule) int { return d.FindIn(s.CurrentRules(), r) }

// FindIn is findRule in a list.
func (d *draft) FindIn(rules []*xtables.Rule, r *xtables.Rule) int {
	r, part := r.Compared()
	want := r.AppendOptions(nil, d.Family, d.Dialect)
	matches := xtables.MatchesReadBack(r.Matches, d.Dialect)
	var text []byte
	for i, other := range rules {
		if part {
			other, _ = other.Compared()
		}
		if other.Proto != r.Proto || !sameChain(other.Target, r.Target) || !sameSide(other.In, r.In) || !sameSide(other.Out, r.Out) {
			continue
		}
		others := xtables.MatchesReadBack(other.Matches, d.Dialect)
		if len(others) != len(matches) {
			continue
		}
		text = other.AppendOptions(text[:0], d.Family, d.Dialect)
		if bytes.Equal(text, want) && !unlikeRules(others, matches, other.Target, r.Target) {
			return i
		}
	}
	return -1
}

// sameSide says whether two devices are both inverted or both not: of one that stands for all, nothing else need be printed.
func sameSide(a, b *xtables.IfaceMatch) bool { return (a != nil && a.Invert) == (b != nil && b.Invert) }

// sameChain says whether targets jump to the same chain, or are no jumps.
func sameChain(a, b xtables.Target) bool {
	to, jumps := a.(*xtables.Jump)
	as, asJumps := b.(*xtables.Jump)
	return jumps == asJumps && (!jumps || to.Chain == as.Chain)
}

// Zero sets counters to zero: of one rule, or with index -1 of the whole chain. Rules that the same input has added
// are not set to zero: legacy leaves them as they are, and the nft tools send the kernel a change that it refuses.
func (e *Edit) Zero(s *Slot, index int) {
	old := e.oldCounters(s)
	e.own(s)
	for i, r := range s.rules {
		if index >= 0 && i != index {
			continue
		}
		if !old[r.Counters] {
			if e.Dialect == netfilter.NFT && (r.Counters.Packets() > 0 || r.Counters.Bytes() > 0) {
				e.Fail(e.Line, RuleReplace, syscall.EINVAL, s.Name)
			}
			continue
		}
		changed := *r
		changed.Counters = &netfilter.Counters{}
		s.rules[i] = &changed
	}
	// Legacy leaves counters alone that were set by the same input.
	set := s.Counters != nil && (s.base == nil || s.Counters != s.base.chain.Counters)
	if index < 0 && s.Hook != 0 && !(set && e.Dialect == netfilter.Legacy) {
		s.Counters = &netfilter.Counters{}
		e.Counted |= s.Hook
		if e.Dialect == netfilter.NFT {
			// The tools send the chain as they have read it.
			s.policy = s.basePolicy()
		}
	}
}

// oldCounters are the counters of the rules that the chain had when the edit began.
func (d *draft) oldCounters(s *Slot) map[*netfilter.Counters]bool {
	old := map[*netfilter.Counters]bool{}
	note := func(c *chainEntry) {
		for _, r := range c.chain.Rules {
			old[r.Counters] = true
		}
	}
	if s.base != nil {
		note(s.base)
	} else {
		// The chain may have had another name.
		d.Base.chains.each(note)
	}
	return old
}

// unlikeRules compares what is not in the text of two rules that are saved alike, of which these are the matches and
// targets.
func unlikeRules(a, b []xtables.Match, target, otherTarget xtables.Target) bool {
	for i := range a {
		if a[i] != b[i] && xtables.Differ(a[i], b[i]) {
			return true
		}
	}
	return target != otherTarget && xtables.Differ(target, otherTarget)
}
