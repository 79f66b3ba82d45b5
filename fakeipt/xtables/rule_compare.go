package xtables

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
)

// Kept is the rule as the kernel gives it back, the rule itself if that is the same.
func (r *Rule) Kept(d netfilter.Dialect) *Rule {
	return r.replaced(
		func(m Match) (Match, bool) {
			if k, ok := m.(keptOtherwise); ok {
				other, is := k.Kept(d)
				return other.(Match), is
			}
			return nil, false
		},
		func(t Target) (Target, bool) {
			if k, ok := t.(keptOtherwise); ok {
				other, is := k.Kept(d)
				return other.(Target), is
			}
			return nil, false
		})
}

// Compared is the rule with what the tools compare of it, and whether that is less than all.
func (r *Rule) Compared() (*Rule, bool) {
	out := r.replaced(
		func(m Match) (Match, bool) {
			if p, ok := m.(partly); ok {
				return p.Compared().(Match), true
			}
			return nil, false
		},
		func(t Target) (Target, bool) {
			if p, ok := t.(partly); ok {
				return p.Compared().(Target), true
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

// partly is a match or target of which the tools do not compare everything: it returns one with what they compare.
type partly interface {
	Compared() any
}

// unlike is a match or target of which the tools compare less than all that it holds: unlike says what they compare beside what is saved.
type unlike interface {
	Unlike(other any) bool
}

// Differ says whether two matches or targets that are saved alike are others to the tools, which compare all that they hold.
func Differ(a, b any) bool {
	if u, ok := a.(unlike); ok {
		return u.Unlike(b)
	}
	return !reflect.DeepEqual(a, b)
}

// SameMatch says whether the tools take two matches for the same one.
func SameMatch(a, b Match) bool {
	if p, ok := a.(partly); ok {
		return SameMatch(p.Compared().(Match), b.(partly).Compared().(Match))
	}
	if Differ(a, b) {
		return false
	}
	text := func(m Match) []byte { return m.AppendSave(nil, netfilter.IPv6, netfilter.Legacy) }
	return a.Name() == b.Name() && bytes.Equal(text(a), text(b))
}
