package fakenft

import "github.com/chainwalk/chainwalk/fakenft/syntax"

// RulePlace is where in a listing a rule stands.
type RulePlace struct {
	Table TableName
	Chain string
	// Number is the rule's in its chain and Line that of the listing where it begins, both from 1.
	Number, Line int
}

// placesOf says where the rules stand that commands make. Those of a chain may stand in several blocks.
func placesOf(commands []*syntax.Command) []RulePlace {
	type chainName struct {
		table TableName
		chain string
	}
	seen := map[chainName]int{}
	var out []RulePlace
	for _, c := range commands {
		if c.Table == nil {
			continue
		}
		for _, chain := range c.Table.Chains {
			name := chainName{TableName{c.Handle.Family, c.Handle.Table}, chain.Handle.Chain}
			for _, rule := range chain.Rules {
				seen[name]++
				out = append(out, RulePlace{name.table, name.chain, seen[name], int(rule.Loc.Line)})
			}
		}
	}
	return out
}
