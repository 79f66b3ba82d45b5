package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// rule is a rule as it is compared.
type rule struct {
	// text is the rule as iptables-save prints it.
	text string
	// bare is the same without comments, if it stands in the chain of a service: when a cluster has become a large one, the rules of
	// services that have not changed keep theirs in both proxiers, and a proxier that starts then writes none.
	bare    string
	service provenance.ServicePort
	last    bool // it leads to the chain of node ports, behind the rules of all services
}

// rulesOf are the rules of each chain of a ruleset, by "table chain", in an order in which they can be compared. Where onlyReached is
// set, chains of services that no packet can come to are left out.
func rulesOf(set netfilter.RulesetView, onlyReached bool) map[string][]rule {
	chains := map[string][]rule{}
	for _, table := range set.Tables {
		reached := reachedChains(table)
		for chain := range table.Chains() {
			if onlyReached && provenance.IsOfServicePort(chain.Name) && !reached[chain.Name] {
				continue
			}
			rules := rulesOfChain(table.Name(), &chain)
			if provenance.IsShared(chain.Name) {
				orderShared(rules)
			}
			chains[table.Name()+" "+chain.Name] = rules
		}
	}
	return chains
}

func rulesOfChain(table string, chain *netfilter.Chain) []rule {
	rules := make([]rule, 0, chain.Len())
	for i, r := range chain.All() {
		one := rule{text: r.Text, bare: r.Text}
		if provenance.IsOfServicePort(chain.Name) {
			one.bare = strings.Join(chain.Args(i, false), " ")
		}
		if provenance.IsShared(chain.Name) {
			one.service, one.last = provenance.ServicePortOf(table, chain.Name, &r.Fact), provenance.IsNodePorts(r.Fact.Jump)
		}
		rules = append(rules, one)
	}
	return rules
}

// orderShared puts the rules of a shared chain in the order of their services. The rules of one service stay in the order
// that they have. The rules for node ports must be the last ones; among themselves they have no order.
func orderShared(rules []rule) {
	end := len(rules)
	for end > 0 && rules[end-1].last {
		end--
	}
	slices.SortStableFunc(rules[:end], func(a, b rule) int { return cmp.Compare(a.service, b.service) })
	slices.SortFunc(rules[end:], func(a, b rule) int { return cmp.Compare(a.text, b.text) })
}

// reachedChains are the chains of a table that packets can come to.
func reachedChains(table netfilter.Table) map[string]bool {
	reached := map[string]bool{}
	var next []netfilter.Chain
	for chain := range table.Chains() {
		if chain.Hook != "" {
			next = append(next, chain)
		}
	}
	for len(next) > 0 {
		chain := next[len(next)-1]
		next = next[:len(next)-1]
		for _, f := range chain.Facts() {
			if f.Jump == "" || reached[f.Jump] {
				continue
			}
			reached[f.Jump] = true
			if target, there := table.Chain(f.Jump); there {
				next = append(next, target)
			}
		}
	}
	return reached
}

// compareRules counts our rules and returns a difference for each chain that is not the same. A nil list of rules
// is a chain that is not there.
func compareRules(ours, theirs map[string][]rule) (rules int, differences []*Difference) {
	names := map[string]bool{}
	for name := range ours {
		names[name] = true
	}
	for name := range theirs {
		names[name] = true
	}
	for name := range names {
		a, b := ours[name], theirs[name]
		rules += len(a)
		there := (a == nil) == (b == nil)
		if there && slices.EqualFunc(a, b, func(a, b rule) bool { return a.text == b.text }) {
			continue
		}
		differences = append(differences, &Difference{
			Kind: "rules", where: name, ours: declared(name, a), theirs: declared(name, b),
			onlyComments: there && slices.EqualFunc(a, b, func(a, b rule) bool { return a.bare == b.bare }),
		})
	}
	slices.SortFunc(differences, func(a, b *Difference) int { return cmp.Compare(a.where, b.where) })
	return rules, differences
}

// declared are the texts of rules behind a line for the chain itself, so that an empty chain is not one that is missing.
func declared(name string, rules []rule) []string {
	if rules == nil {
		return nil
	}
	_, chain, _ := strings.Cut(name, " ")
	lines := []string{":" + chain}
	for i := range rules {
		lines = append(lines, rules[i].text)
	}
	return lines
}
