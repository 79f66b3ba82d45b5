package packetsim

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// matchOpaque is a match that is not known. The rule does not hold if one of the matches behind it does not; what a packet that all of
// them let through meets is an error. A match that would remember that it was asked is not asked, since the kernel asks it only if
// the unknown one holds.
func (w *walk) matchOpaque(s *skb, m *fakeipt.MatchOpaque) bool {
	behind := w.rule.rule.Matches[w.rule.place+1:]
	for i, other := range behind {
		if remembers(other) {
			continue
		}
		if _, opaque := other.(*fakeipt.MatchOpaque); opaque {
			continue
		}
		w.rule.place = len(w.rule.rule.Matches) - len(behind) + i
		if !w.matches(s, other) && !w.hotdrop {
			return false
		}
		w.hotdrop = false // it drops only what comes to it
	}
	w.fail(w.opaqueError("match "+m.Extension, m.Rule))
	return false
}

// remembers says that a match changes something of the host where it does not hold.
func remembers(m fakeipt.Match) bool {
	switch m := m.(type) {
	case *fakeipt.MatchRecent, *fakeipt.MatchHashlimit, *fakeipt.MatchLimit, *fakeipt.MatchNFAcct, *fakeipt.MatchSet:
		return true
	case *fakeipt.MatchStatistic:
		return m.Mode == fakeipt.StatisticNth
	}
	return false
}

// opaqueTarget is a target that is not known.
func (w *walk) opaqueTarget(t *fakeipt.TargetOpaque) fate {
	w.fail(w.opaqueError("target "+t.Extension, t.Rule))
	return stopped
}

// opaqueError says at which rule the walk ends, and where that rule is from.
func (w *walk) opaqueError(extension string, from *fakeipt.OpaqueRule) error {
	table, chain, number := w.rule.table.Name(), "", 0
	for c := range w.rule.table.Unsorted() {
		for i, r := range c.Rules {
			if r == w.rule.rule {
				chain, number = c.Name, i+1
			}
		}
	}
	return fmt.Errorf("%w: the packet meets %s:%s:rule:%d, whose %s is not known (%s, line %d: -A %s %s)",
		errNoWalk, table, chain, number, extension, from.Source, from.Line, chain, from.Text)
}
