package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// tracks says whether conntrack looks at the packets of a ruleset. The kernel registers its hooks only while some rule of the family
// asks for it (nf_ct_netns_get): without such a rule there are no entries, every packet is
// INVALID to nobody, and the chains of a loaded nat table are not run.
func (h *Host) tracks(rules *fakeipt.Ruleset) bool {
	answer, known := h.tracking[rules]
	if !known {
		answer = asksForConntrack(rules)
		if len(h.tracking) >= 2 {
			h.tracking = nil
		}
		if h.tracking == nil {
			h.tracking = map[*fakeipt.Ruleset]bool{}
		}
		h.tracking[rules] = answer
	}
	return answer
}

func asksForConntrack(rules *fakeipt.Ruleset) bool {
	for _, table := range rules.Tables() {
		for chain := range table.Chains() {
			for _, rule := range chain.Rules {
				if ruleAsksForConntrack(rule) {
					return true
				}
			}
		}
	}
	return false
}

func ruleAsksForConntrack(rule *fakeipt.Rule) bool {
	switch rule.Target.(type) {
	case *fakeipt.TargetDNAT, *fakeipt.TargetSNAT, *fakeipt.TargetMasquerade, *fakeipt.TargetRedirect,
		*fakeipt.TargetConnmark, *fakeipt.TargetNotrack, *fakeipt.TargetCT, *fakeipt.TargetNetmap:
		return true
	}
	for _, m := range rule.Matches {
		switch m.(type) {
		case *fakeipt.MatchConntrack, *fakeipt.MatchState, *fakeipt.MatchConnmark:
			return true
		}
	}
	return false
}
