package packetsim

import (
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
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
	var reads xtables.Reads // one for all rules: there are many
	asks := func(rule *xtables.Rule) bool { return ruleAsksForConntrack(rule, &reads) }
	for _, table := range rules.Tables() {
		for chain := range table.Unsorted() {
			if slices.ContainsFunc(chain.Rules, asks) {
				return tableUser{table.Name(), chain}
			}
		}
	}
	return tableUser{}
}

// ruleAsksForConntrack writes to reads what the matches look at.
func ruleAsksForConntrack(rule *xtables.Rule, reads *xtables.Reads) bool {
	if rule.Target != nil && rule.Target.Reads().Has(netfilter.ReadsConnection) {
		return true
	}
	*reads = xtables.Reads{Dst: reads.Dst[:0], DstMasks: reads.DstMasks[:0], DstPorts: reads.DstPorts[:0]}
	for _, m := range rule.Matches {
		m.AddReads(reads)
	}
	return reads.Has(netfilter.ReadsConnection)
}
