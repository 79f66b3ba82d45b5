package fakeipt

import (
	"bytes"
	"reflect"
	"slices"
	"syscall"

	"github.com/chainwalk/chainwalk/netfilter"
)

// jumpTo returns the target that jumps to the slot's chain.
func (s *chainSlot) jumpTo(isGoto bool) *Jump {
	if isGoto {
		if s.jumpGoto == nil {
			s.jumpGoto = &Jump{Chain: s.name, Goto: true}
		}
		return s.jumpGoto
	}
	if s.jump == nil {
		s.jump = &Jump{Chain: s.name}
	}
	return s.jump
}

// count adds n to the references of the chain that the rule jumps to, if it does.
func (e *tableEdit) count(r *Rule, n int32) {
	if j, ok := r.Target.(*Jump); ok {
		e.slotOf(j.Chain).refs += n
	}
}

// ordinaryChain is the number of rules of most chains.
const ordinaryChain = 3

// insert puts a rule before the one with that index; the length of the chain appends it.
func (e *tableEdit) insert(s *chainSlot, index int, r *Rule) {
	e.touch()
	e.own(s)
	if index == len(s.rules) {
		if s.rules == nil {
			s.rules = make([]*Rule, 0, ordinaryChain)
		}
		s.rules = append(s.rules, r)
	} else {
		s.rules = slices.Insert(s.rules, index, r)
	}
	e.count(r, 1)
}

// failOn notes a change of the nft tools that names a rule which the kernel has refused within the same input.
func (e *tableEdit) failOn(r *Rule, kind batchKind, s *chainSlot) {
	if e.dialect == netfilter.NFT && e.bad[r].errno != 0 {
		e.fail(e.line, kind, syscall.ENOENT, s.name)
	}
}

// replace puts a rule in the place of another one.
func (e *tableEdit) replace(s *chainSlot, index int, r *Rule) {
	e.own(s)
	e.count(s.rules[index], -1)
	s.rules[index] = r
	e.count(r, 1)
}

// remove deletes the rule with that index. The nft tools ask the kernel for it even if it has refused that rule.
func (e *tableEdit) remove(s *chainSlot, index int) {
	e.failOn(s.currentRules()[index], batchDelete, s)
	e.own(s)
	e.count(s.rules[index], -1)
	s.rules = slices.Delete(s.rules, index, index+1)
}

// findRule returns the index of the first rule equal to r, -1 if there is none.
func (e *tableEdit) findRule(s *chainSlot, r *Rule) int { return e.findIn(s.currentRules(), r) }

// findIn is findRule in a list.
func (e *tableEdit) findIn(rules []*Rule, r *Rule) int {
	r, part := r.compared()
	want := r.appendOptions(nil, e.family, e.dialect)
	matches := matchesReadBack(r.Matches, e.dialect)
	var text []byte
	for i, other := range rules {
		if part {
			other, _ = other.compared()
		}
		if other.Proto != r.Proto || !sameChain(other.Target, r.Target) || !sameSide(other.In, r.In) || !sameSide(other.Out, r.Out) {
			continue
		}
		others := matchesReadBack(other.Matches, e.dialect)
		if len(others) != len(matches) {
			continue
		}
		text = other.appendOptions(text[:0], e.family, e.dialect)
		if bytes.Equal(text, want) && !unlikeRules(others, matches, other.Target, r.Target) {
			return i
		}
	}
	return -1
}

// sameSide says whether two devices are both inverted or both not: of one that stands for all, nothing else need be printed.
func sameSide(a, b *IfaceMatch) bool { return (a != nil && a.Invert) == (b != nil && b.Invert) }

// keptOtherwise is a match or target of which the kernel may give back another one than it was given.
type keptOtherwise interface {
	kept(d netfilter.Dialect) (any, bool)
}

// kept is the rule as the kernel gives it back, the rule itself if that is the same.
func (r *Rule) kept(d netfilter.Dialect) *Rule {
	return r.replaced(
		func(m Match) (Match, bool) {
			if k, ok := m.(keptOtherwise); ok {
				other, is := k.kept(d)
				return other.(Match), is
			}
			return nil, false
		},
		func(t Target) (Target, bool) {
			if k, ok := t.(keptOtherwise); ok {
				other, is := k.kept(d)
				return other.(Target), is
			}
			return nil, false
		})
}

// partly is a match or target of which the tools do not compare everything: it returns one with what they compare.
type partly interface {
	compared() any
}

// compared is the rule with what the tools compare of it, and whether that is less than all.
func (r *Rule) compared() (*Rule, bool) {
	out := r.replaced(
		func(m Match) (Match, bool) {
			if p, ok := m.(partly); ok {
				return p.compared().(Match), true
			}
			return nil, false
		},
		func(t Target) (Target, bool) {
			if p, ok := t.(partly); ok {
				return p.compared().(Target), true
			}
			return nil, false
		})
	return out, out != r
}

// replaced is the rule with others in the place of the matches and the target for which there is another, the rule itself if there is none.
func (r *Rule) replaced(match func(Match) (Match, bool), target func(Target) (Target, bool)) *Rule {
	out := r
	own := func() {
		if out == r {
			changed := *r
			changed.Matches = slices.Clone(r.Matches)
			out = &changed
		}
	}
	for i, m := range r.Matches {
		if other, ok := match(m); ok {
			own()
			out.Matches[i] = other
		}
	}
	if other, ok := target(r.Target); ok {
		own()
		out.Target = other
	}
	return out
}

// sameChain says whether targets jump to the same chain, or are no jumps.
func sameChain(a, b Target) bool {
	to, jumps := a.(*Jump)
	as, asJumps := b.(*Jump)
	return jumps == asJumps && (!jumps || to.Chain == as.Chain)
}

// zero sets counters to zero: of one rule, or with index -1 of the whole chain. Rules that the same input has added
// are not set to zero: legacy leaves them as they are, and the nft tools send the kernel a change that it refuses.
func (e *tableEdit) zero(s *chainSlot, index int) {
	old := e.oldCounters(s)
	e.own(s)
	for i, r := range s.rules {
		if index >= 0 && i != index {
			continue
		}
		if !old[r.Counters] {
			if e.dialect == netfilter.NFT && (r.Counters.Packets() > 0 || r.Counters.Bytes() > 0) {
				e.fail(e.line, batchReplace, syscall.EINVAL, s.name)
			}
			continue
		}
		changed := *r
		changed.Counters = &netfilter.Counters{}
		s.rules[i] = &changed
	}
	// Legacy leaves counters alone that were set by the same input.
	set := s.counters != nil && (s.base == nil || s.counters != s.base.chain.Counters)
	if index < 0 && s.hook != 0 && !(set && e.dialect == netfilter.Legacy) {
		s.counters = &netfilter.Counters{}
		e.counted |= s.hook
		if e.dialect == netfilter.NFT {
			// The tools send the chain as they have read it.
			s.policy = s.basePolicy()
		}
	}
}

// oldCounters are the counters of the rules that the chain had when the edit began.
func (e *tableEdit) oldCounters(s *chainSlot) map[*netfilter.Counters]bool {
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
		e.base.chains.each(note)
	}
	return old
}

// unlike is a match or target of which the tools compare less than all that it holds: unlike says what they compare beside what is saved.
type unlike interface {
	unlike(other any) bool
}

// differ says whether two matches or targets that are saved alike are others to the tools, which compare all that they hold.
func differ(a, b any) bool {
	if u, ok := a.(unlike); ok {
		return u.unlike(b)
	}
	return !reflect.DeepEqual(a, b)
}

// unlikeRules compares what is not in the text of two rules that are saved alike, of which these are the matches and
// targets.
func unlikeRules(a, b []Match, target, otherTarget Target) bool {
	for i := range a {
		if a[i] != b[i] && differ(a[i], b[i]) {
			return true
		}
	}
	return target != otherTarget && differ(target, otherTarget)
}

// sameMatch says whether the tools take two matches for the same one.
func sameMatch(a, b Match) bool {
	if p, ok := a.(partly); ok {
		return sameMatch(p.compared().(Match), b.(partly).compared().(Match))
	}
	if differ(a, b) {
		return false
	}
	return a.Name() == b.Name() && bytes.Equal(a.appendSave(nil, netfilter.IPv6, netfilter.Legacy), b.appendSave(nil, netfilter.IPv6, netfilter.Legacy))
}
