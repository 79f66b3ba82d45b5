package packetsim

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// conntrackUser is a chain with a rule that makes the kernel track connections. Without a chain there is none.
type conntrackUser struct {
	table string
	chain *fakeipt.Chain
}

// conntrackUserOf finds such a chain. The one that a ruleset before this one had is probably still there.
func conntrackUserOf(rules *fakeipt.Ruleset, before conntrackUser) conntrackUser {
	if before.chain != nil {
		if table := rules.Table(before.table); table != nil && table.Chain(before.chain.Name) == before.chain {
			return before
		}
	}
	for _, table := range rules.Tables() {
		for chain := range table.Unsorted() {
			if slices.ContainsFunc(chain.Rules, ruleAsksForConntrack) {
				return conntrackUser{table.Name(), chain}
			}
		}
	}
	return conntrackUser{}
}

func ruleAsksForConntrack(rule *fakeipt.Rule) bool {
	switch t := rule.Target.(type) {
	case *fakeipt.TargetDNAT, *fakeipt.TargetSNAT, *fakeipt.TargetMasquerade, *fakeipt.TargetRedirect,
		*fakeipt.TargetConnmark, *fakeipt.TargetNetmap, *fakeipt.TargetConnsecmark, *fakeipt.TargetSynproxy:
		return true
	case *fakeipt.TargetCT:
		return !t.Notrack // which, as NOTRACK does, needs nothing to be tracked (xt_ct_tg_check)
	}
	for _, m := range rule.Matches {
		switch m.(type) {
		case *fakeipt.MatchConntrack, *fakeipt.MatchState, *fakeipt.MatchConnmark, *fakeipt.MatchCluster, *fakeipt.MatchConnbytes,
			*fakeipt.MatchConnlabel, *fakeipt.MatchConnlimit, *fakeipt.MatchHelper:
			return true
		}
	}
	return false
}
