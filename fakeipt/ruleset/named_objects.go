package ruleset

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter/ipset"
)

// Rules yields the rules of all tables, in no order.
func (rs *Ruleset) Rules(yield func(*xtables.Rule) bool) {
	for _, t := range rs.tables {
		for c := range t.Unsorted() {
			for _, r := range c.Rules {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// NoteAccounts notes the accounting objects that rules name.
func (rs *Ruleset) NoteAccounts(used map[string]bool) {
	for r := range rs.Rules {
		for _, m := range r.Matches {
			if n, ok := m.(*match.NFAcct); ok {
				used[n.Object] = true
			}
		}
	}
}

// CountSets adds how often rules name each set.
func (rs *Ruleset) CountSets(count map[string]int) {
	for r := range rs.Rules {
		countSets(r, count)
	}
}

func countSets(r *xtables.Rule, count map[string]int) {
	for _, m := range r.Matches {
		if s, ok := m.(*match.Set); ok {
			count[s.Set]++
		}
	}
	if t, ok := r.Target.(*target.Set); ok {
		for _, ref := range []ipset.Ref{t.Add, t.Del, t.Map} {
			if ref.Set != "" {
				count[ref.Set]++
			}
		}
	}
}
