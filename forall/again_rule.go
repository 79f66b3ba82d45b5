package forall

import (
	"reflect"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// sameRule says whether two rules of iptables do the same with all packets. Comments and counters make no difference.
func sameRule(a, b *xtables.Rule) bool {
	return a == b || a.Proto == b.Proto && a.Fragment == b.Fragment && a.HasOpaque == b.HasOpaque && sameValue(a.Src, b.Src) &&
		sameValue(a.Dst, b.Dst) && sameValue(a.In, b.In) && sameValue(a.Out, b.Out) && sameTarget(a.Target, b.Target) &&
		sameMatches(a.Matches, b.Matches)
}

func sameValue[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func sameTarget(a, b xtables.Target) bool {
	switch a := a.(type) {
	case *xtables.Jump:
		return sameAs(a, b)
	case *xtables.TargetVerdict:
		return sameAs(a, b)
	case *target.DNAT:
		return sameAs(a, b)
	case *target.Mark:
		return sameAs(a, b)
	}
	return reflect.DeepEqual(a, b)
}

// sameAs says whether b is a value of the same type that is equal.
func sameAs[T comparable](a *T, b any) bool {
	other, is := b.(*T)
	return is && sameValue(a, other)
}

func sameMatches(a, b []xtables.Match) bool {
	isComment := func(m xtables.Match) bool {
		_, is := m.(*match.Comment)
		return is
	}
	for {
		for len(a) > 0 && isComment(a[0]) {
			a = a[1:]
		}
		for len(b) > 0 && isComment(b[0]) {
			b = b[1:]
		}
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if !sameMatch(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

func sameMatch(a, b xtables.Match) bool {
	switch a := a.(type) {
	case *match.TCP:
		return sameAs(a, b)
	case *match.UDP:
		return sameAs(a, b)
	case *match.Statistic:
		return sameAs(a, b)
	case *match.Mark:
		return sameAs(a, b)
	}
	return reflect.DeepEqual(a, b)
}

// saysPlace says whether a rule has conditions whose names say where it stands (cond.namedAt).
func saysPlace(r *xtables.Rule) bool {
	return slices.ContainsFunc(r.Matches, func(m xtables.Match) bool {
		switch m := m.(type) {
		case *match.Comment, *match.TCP, *match.UDP, *match.SCTP, *match.ICMP, *match.Multiport, *match.State, *match.Mark, *match.Connmark,
			*match.IPRange, *match.Addrtype, *match.NFAcct, *match.Recent, *match.Set, *match.Policy, *match.Devgroup:
			return false
		case *match.Statistic:
			return m.Mode != match.StatisticRandom
		}
		return true
	})
}
