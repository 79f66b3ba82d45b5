package packetsim

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
)

// tableUser is a conntrackUser of iptables. Without a chain there is none.
type tableUser struct {
	table string
	chain *ruleset.Chain
}

// tableUserOf finds such a chain. The one that a ruleset before this one had is probably still there.
func tableUserOf(rules *ruleset.Ruleset, before tableUser) tableUser {
	if before.chain != nil {
		if table := rules.Table(before.table); table != nil && table.Chain(before.chain.Name) == before.chain {
			return before
		}
	}
	for _, table := range rules.Tables() {
		for chain := range table.Unsorted() {
			if slices.ContainsFunc(chain.Rules, ruleAsksForConntrack) {
				return tableUser{table.Name(), chain}
			}
		}
	}
	return tableUser{}
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
