package fakenft

import (
	"github.com/chainwalk/chainwalk/fakenft/parse"
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// RulePlace is where in a listing a rule stands.
type RulePlace struct {
	Table TableName
	Chain string
	// Number is the rule's in its chain and Line that of the listing where it begins, both from 1.
	Number, Line int
}

// RulePlaces says where the rules of a listing in text stand that Load takes. It returns none of a listing in JSON.
func RulePlaces(listing string) []RulePlace {
	in := &syntax.Input{Text: listing}
	commands, mistakes := parse.Text(in, parse.Options{})
	if loadError(in, mistakes) != nil {
		return nil
	}
	type chainName struct {
		table TableName
		chain string
	}
	seen := map[chainName]int{} // a chain may stand in several blocks
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
