package trial

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// staleChains looks for chains that no rule leads to.
func (r *run) staleChains(n *nodeState) error {
	if endpointsOf(n.ruled) > maxFewEndpoints {
		return nil
	}
	r.exercised(oracle.NoStaleChain)
	for _, family := range tools.Families(r.cluster.IPFamily) {
		chain := leaked(r.ruleset(n, family))
		if chain == "" {
			continue
		}
		return r.add(Finding{
			Clause: oracle.NoStaleChain, Node: n.name, Want: "no chain that no rule leads to", Got: "chain " + chain,
			Check: []scenarios.Step{{Rules: &scenarios.RulesCheck{Nodes: []string{n.name}, Family: family, NoChains: []string{chain}}}},
		})
	}
	return nil
}

// ruleset are the rules of a node as its kernel has them.
func (r *run) ruleset(n *nodeState, family scenarios.IPFamily) *fakeipt.Ruleset {
	of := netfilter.IPv4
	if family == scenarios.FamilyIPv6 {
		of = netfilter.IPv6
	}
	return r.world.Kernel(n.name).Ruleset(of)
}

// leaked is the first chain by name of a service or an endpoint that no rule leads to, empty if there is none.
func leaked(rules *fakeipt.Ruleset) string {
	var out string
	for _, t := range rules.Tables() {
		for c := range t.Unsorted() {
			if (out == "" || cmp.Less(c.Name, out)) && provenance.IsOfServicePort(c.Name) && t.References(c.Name) == 0 {
				out = c.Name
			}
		}
	}
	return out
}

// alike reports whether packets meet the same in two rulesets of a kernel: chains that have changed have changed by nothing but jumps to
// chains without rules. It may say no where they do, and never yes where they do not.
func alike(a, b *fakeipt.Ruleset) bool {
	if a == b {
		return true
	}
	if a == nil || len(a.Tables()) > len(b.Tables()) {
		return false
	}
	for _, t := range b.Tables() {
		if was := a.Table(t.Name()); was != t && !alikeTables(was, t) {
			return false
		}
	}
	return true
}

// alikeTables compares tables. One that was not there had no rules.
func alikeTables(a, b *fakeipt.Table) bool {
	for c := range b.Unsorted() {
		var was *fakeipt.Chain
		if a != nil {
			was = a.Chain(c.Name)
		}
		if was == c {
			continue
		}
		if was == nil {
			was = &fakeipt.Chain{Policy: c.Policy}
			if c.Policy == fakeipt.PolicyDrop {
				return false
			}
		}
		if was.Policy != c.Policy || !slices.Equal(deciding(a, was), deciding(b, c)) {
			return false
		}
	}
	return true
}

// deciding are the rules of a chain but for those that lead to a chain without rules.
func deciding(t *fakeipt.Table, c *fakeipt.Chain) []*fakeipt.Rule {
	var out []*fakeipt.Rule
	for _, rule := range c.Rules {
		if !leadsNowhere(t, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// leadsNowhere reports whether a packet that meets a rule goes on behind it as it was, and nothing remembers it.
func leadsNowhere(t *fakeipt.Table, rule *fakeipt.Rule) bool {
	jump, ok := rule.Target.(*fakeipt.Jump)
	return ok && !jump.Goto && len(t.Chain(jump.Chain).Rules) == 0 &&
		!slices.ContainsFunc(rule.Matches, func(m fakeipt.Match) bool { return m.Name() != "comment" && m.Name() != "conntrack" })
}
