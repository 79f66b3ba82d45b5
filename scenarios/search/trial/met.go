package trial

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
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
		rules, err := r.rulesOf(ctx, n)
		if err != nil {
			return err
		}
		for _, s := range rules {
			s.count(counts, met, n.name)
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

// count counts the proxier's own rules by kind.
func (s *saved) count(counts map[string]RuleFigures, met map[string]bool, node string) {
	for _, line := range s.lines {
		table, rule, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(rule, "-A KUBE-") {
			continue
		}
		kind := table + " " + kindOfRule(rule)
		sum := counts[kind]
		sum.There++
		if met[node+" "+string(s.family)+" "+line] {
			sum.Met++
		}
		counts[kind] = sum
	}
}

var (
	quoted = regexp.MustCompile(`--comment ("[^"]*"|\S+) ?`)
	values = regexp.MustCompile(` +[^-! A-Z][^ ]*`)
)

// kindOfRule is a rule without what tells services and endpoints apart: hashes of chains, comments, addresses and ports.
func kindOfRule(rule string) string {
	rule = quoted.ReplaceAllString(rule, "")
	return values.ReplaceAllString(provenance.WithoutHashes(rule), "")
}
