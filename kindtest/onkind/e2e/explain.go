package main

import (
	"fmt"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// rulesBetween are the rules that make the difference between the prediction of a check and its twin with this project's proxier in
// memory, node by node. The causes come first: rules that a node lacks, or has and should not. Then comes what follows from them: rules
// that are there, and that the packet meets in one of the two only. Empty if the prediction has no rules.
func rulesBetween(c *scenarios.Check, sound *scenarios.Result) []string {
	twin := twinOf(c, sound)
	if twin == nil || len(c.PredictedWays) == 0 {
		return nil
	}
	here, there := rulesOf(c.PredictedWays), rulesOf(twin.Ways)
	var causes, consequences []string
	for _, r := range without(there, here) {
		if r.isAmong(c.Rules) {
			consequences = append(consequences, fmt.Sprintf("the packet does not meet on %s: %s", r.node, r.text))
		} else {
			causes = append(causes, fmt.Sprintf("%s lacks %s", r.node, r.text))
		}
	}
	for _, r := range without(here, there) {
		if r.isAmong(twin.Rules) {
			consequences = append(consequences, fmt.Sprintf("the packet meets on %s: %s", r.node, r.text))
		} else {
			causes = append(causes, fmt.Sprintf("%s has %s", r.node, r.text))
		}
	}
	return append(causes, consequences...)
}

// without are the rules of a list that another one does not have.
func without(all, others []rule) []rule {
	return slices.DeleteFunc(slices.Clone(all), func(r rule) bool { return slices.ContainsFunc(others, r.is) })
}

// twinOf is the same check of another run; nil if it has none.
func twinOf(c *scenarios.Check, r *scenarios.Result) *scenarios.Check {
	for i := range r.Checks {
		if t := &r.Checks[i]; t.At == c.At && t.Step == c.Step && t.Name == c.Name && t.Dialect == c.Dialect {
			return t
		}
	}
	return nil
}

// rule is one that a packet met on a node.
type rule struct{ node, text string }

// is reports whether two rules are one, in clusters of other addresses, of which the names of chains are made.
func (r rule) is(other rule) bool {
	return r.node == other.node && provenance.WithoutHashes(r.text) == provenance.WithoutHashes(other.text)
}

// isAmong reports whether a node has the rule. If a node's rules are not known, none of them counts as missing.
func (r rule) isAmong(rules func(node string) []string) bool {
	return rules == nil || slices.ContainsFunc(rules(r.node), func(text string) bool { return r.is(rule{r.node, text}) })
}

// rulesOf are the rules of ways, there and back, each once, in the order in which packets meet them.
func rulesOf(ways []scenarios.Way) []rule {
	var out []rule
	for i := range ways {
		for _, h := range slices.Concat(ways[i].Forward, ways[i].Back) {
			for _, s := range h.Steps {
				if r := (rule{h.Host, s.Rule}); s.Rule != "" && !slices.ContainsFunc(out, r.is) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}
