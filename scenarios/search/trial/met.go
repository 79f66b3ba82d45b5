package trial

import (
	"context"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// countRules notes which rules the attempts meet, there and back, and which nobody meets.
func (r *run) countRules(ctx context.Context, m *moment) error {
	met := map[string]bool{} // by node, family, table and rule
	for _, a := range m.after.Attempts() {
		seen, err := r.world.Connect(ctx, attemptAsStep(anew(a)))
		if err != nil {
			return err
		}
		noteSteps(met, seen, a)
	}
	for _, a := range m.after.Martians() {
		seen, err := r.world.Send(ctx, a.Via, r.martian(a))
		if err != nil {
			return err
		}
		noteSteps(met, seen, a)
	}
	counts := map[string]RuleFigures{}
	for _, n := range r.nodes {
		for _, family := range tools.Families(r.cluster.IPFamily) {
			for _, table := range r.ruleset(n, family).Tables {
				countTable(counts, met, n.name+" "+string(family)+" ", table)
			}
		}
	}
	r.report.Figures.Merge(&Figures{Rules: counts})
	return nil
}

// attemptAsStep is an attempt as a session makes it.
func attemptAsStep(a oracle.Attempt) scenarios.Attempt {
	c := connectOf(a)
	return scenarios.Attempt{From: c.From, Bind: c.Bind, To: c.To, Via: c.Via}
}

// noteSteps notes the rules that a connection met, and its answer.
func noteSteps(met map[string]bool, seen *scenarios.Observed, a oracle.Attempt) {
	family := scenarios.FamilyIPv4
	if a.To.Addr().Is6() {
		family = scenarios.FamilyIPv6
	}
	for i := range seen.Ways {
		for _, hop := range slices.Concat(seen.Ways[i].Forward, seen.Ways[i].Back) {
			for _, step := range hop.Steps {
				table, _, _ := strings.Cut(step.At, ":")
				met[hop.Host+" "+string(family)+" "+table+" "+step.Rule] = true
			}
		}
	}
}

// countTable counts the proxier's own rules by kind. Those that were met are noted behind the node and the family.
func countTable(counts map[string]RuleFigures, met map[string]bool, of string, table netfilter.Table) {
	for chain := range table.Chains() {
		if !provenance.WriterOf(chain.Name).IsKubernetes() {
			continue
		}
		for i := range chain.Len() {
			kind := table.Name() + " " + provenance.Kind(chain.Name, chain.Args(i, true))
			sum := counts[kind]
			sum.There++
			if met[of+table.Name()+" "+chain.Text(i)] {
				sum.Met++
			}
			counts[kind] = sum
		}
	}
}
