package trial

import (
	"cmp"
	"context"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// staleChains looks for chains that no rule leads to.
func (r *run) staleChains(ctx context.Context, n *nodeState) error {
	if endpointsOf(n.ruled) > maxFewEndpoints || !r.canBreak(oracle.NoStaleChain) {
		return nil
	}
	r.exercised(oracle.NoStaleChain)
	for _, family := range tools.Families(r.cluster.IPFamily) {
		check := &scenarios.RulesCheck{Nodes: []string{n.name}, Family: family}
		chain := leaked(r.ruleset(n, family))
		if n.inNFTables() {
			lines, err := r.listed(ctx, n, family)
			if err != nil {
				return err
			}
			mayHaveNone := func(chain string) bool { return r.contested(n, family, chain) }
			check.Mode, chain = scenarios.ModeNFTables, leakedNFT(lines, mayHaveNone)
		}
		if chain == "" {
			continue
		}
		check.NoChains = []string{chain}
		return r.add(Violation{
			Clause: oracle.NoStaleChain, Node: n.name, Want: "no chain that no rule leads to", Got: "chain " + chain,
			Check: []scenarios.Step{{Rules: check}},
		})
	}
	return nil
}

// ruleset are the rules of a node as its kernel has them.
func (r *run) ruleset(n *nodeState, family scenarios.IPFamily) *netfilter.RulesetView {
	rules := r.world.Kernel(n.name).Rules(familyOf(family))
	return &rules
}

func familyOf(family scenarios.IPFamily) netfilter.Family {
	if family == scenarios.FamilyIPv6 {
		return netfilter.IPv6
	}
	return netfilter.IPv4
}

// leaked is the first chain by name of a service or an endpoint that no rule leads to, empty if there is none.
func leaked(rules *netfilter.RulesetView) string {
	var out string
	for _, t := range rules.Tables {
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
func alike(a, b *netfilter.RulesetView) bool {
	if a == nil || len(a.Tables) > len(b.Tables) {
		return false
	}
	for _, t := range b.Tables {
		if was := a.Table(t.Name()); was != t && !alikeTables(was, t) {
			return false
		}
	}
	return true
}

// alikeTables compares tables. One that was not there (nil) had no rules.
func alikeTables(a, b netfilter.Table) bool {
	for c := range b.Unsorted() {
		var was netfilter.Chain
		there := false
		if a != nil {
			was, there = a.Chain(c.Name)
		}
		switch {
		case there && was == c:
		case !there && (c.Policy == netfilter.Drop || len(deciding(b, &c)) > 0):
			return false
		case there && (was.Policy != c.Policy || !slices.Equal(deciding(a, &was), deciding(b, &c))):
			return false
		}
	}
	return true
}

// deciding are the handles of a chain's rules but for those that lead to a chain without rules.
func deciding(t netfilter.Table, c *netfilter.Chain) []any {
	var out []any
	for i, f := range c.Facts() {
		if !leadsNowhere(t, &f) {
			out = append(out, c.Handle(i))
		}
	}
	return out
}

// leadsNowhere reports whether a packet that meets a rule goes on behind it as it was, and nothing remembers it.
func leadsNowhere(t netfilter.Table, f *netfilter.Fact) bool {
	to, there := t.Chain(f.Jump)
	return there && to.Len() == 0 && !f.Goto && len(f.Memories) == 0 && len(f.Conditions.Others) == 0
}
