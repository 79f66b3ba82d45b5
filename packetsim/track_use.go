package packetsim

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// conntrackUser is a chain with a rule that makes the kernel track connections. Without a chain there is none.
type conntrackUser struct {
	table string
	chain *ruleset.Chain
}

// conntrackUserOf finds such a chain. The one that a ruleset before this one had is probably still there.
func conntrackUserOf(rules *ruleset.Ruleset, before conntrackUser) conntrackUser {
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

func ruleAsksForConntrack(rule *xtables.Rule) bool {
	switch t := rule.Target.(type) {
	case *target.DNAT, *target.SNAT, *target.Masquerade, *target.Redirect,
		*target.Connmark, *target.Netmap, *target.Connsecmark, *target.Synproxy:
		return true
	case *target.CT:
		return !t.Notrack // which, as NOTRACK does, needs nothing to be tracked (xt_ct_tg_check)
	}
	for _, m := range rule.Matches {
		switch m.(type) {
		case *match.Conntrack, *match.State, *match.Connmark, *match.Cluster, *match.Connbytes,
			*match.Connlabel, *match.Connlimit, *match.Helper:
			return true
		}
	}
	return false
}
