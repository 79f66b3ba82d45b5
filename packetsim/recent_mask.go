package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
)

// tableOrder is the order in which the tables of a restore are usually committed.
var tableOrder = [...]string{"raw", "mangle", "nat", "filter", "security"}

// recentMasks knows the masks that lists of -m recent are made with.
type recentMasks struct {
	namespace *netfilter.Namespace
	known     map[*ruleset.Ruleset]map[string]netip.Addr // the answers of masksOf for the current rulesets
}

// maskOf is the mask of a list that a rule uses first. A list keeps the mask of the rule that made it, which is the first one that was
// loaded and not the first one that a packet meets (recent_mt_check in net/netfilter/xt_recent.c).
func (r *recentMasks) maskOf(m *match.Recent) netip.Addr {
	for _, family := range netfilter.Families() {
		for _, tools := range r.namespace.Tools() {
			if rules, is := tools.Rules(family).(*ruleset.Ruleset); is {
				if mask, ok := r.masksOf(rules)[m.List]; ok {
					return mask
				}
			}
		}
	}
	return m.Mask
}

// masksOf are the masks of a ruleset's lists of which some rule masks addresses. They are kept while the ruleset stays.
func (r *recentMasks) masksOf(rules *ruleset.Ruleset) map[string]netip.Addr {
	masks, known := r.known[rules]
	if !known {
		if len(r.known) >= 4 {
			r.known = nil
		}
		if r.known == nil {
			r.known = map[*ruleset.Ruleset]map[string]netip.Addr{}
		}
		masks = firstMasks(rules)
		r.known[rules] = masks
	}
	return masks
}

func firstMasks(rules *ruleset.Ruleset) map[string]netip.Addr {
	first, masked := map[string]netip.Addr{}, map[string]netip.Addr{}
	for m := range recentMatches(rules) {
		if _, known := first[m.List]; !known {
			first[m.List] = m.Mask
		}
		if m.Mask != first[m.List] || !isWhole(m.Mask) {
			masked[m.List] = first[m.List]
		}
	}
	return masked
}

// isWhole says that a mask leaves addresses as they are.
func isWhole(mask netip.Addr) bool {
	return !mask.IsValid() || applyMask(allOnes(mask), mask) == allOnes(mask)
}

func allOnes(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.AddrFrom4([4]byte{255, 255, 255, 255})
	}
	var ones [16]byte
	for i := range ones {
		ones[i] = 255
	}
	return netip.AddrFrom16(ones)
}

// recentMatches yields the recent matches of all rules in the order in which they are loaded.
func recentMatches(rules *ruleset.Ruleset) func(yield func(*match.Recent) bool) {
	return func(yield func(*match.Recent) bool) {
		for _, name := range tableOrder {
			table := rules.Table(name)
			if table == nil {
				continue
			}
			for chain := range table.Chains() {
				for _, rule := range chain.Rules {
					for _, m := range rule.Matches {
						if recent, is := m.(*match.Recent); is && !yield(recent) {
							return
						}
					}
				}
			}
		}
	}
}
