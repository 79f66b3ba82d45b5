package main

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/chainwalk/chainwalk/scenarios"
)

// rulesBetween are the rules that a packet meets with this project's proxier in memory, and by the prediction does not meet here, and the
// other way round, node by node: what a node lacks, or has too much. Empty if the prediction has no rules.
func rulesBetween(c *scenarios.Check, sound *scenarios.Result) []string {
	twin := twinOf(c, sound)
	if twin == nil || len(c.PredictedWays) == 0 {
		return nil
	}
	here, there := rulesOf(c.PredictedWays), rulesOf(twin.Ways)
	var out []string
	for _, r := range there {
		if !slices.ContainsFunc(here, r.is) {
			out = append(out, fmt.Sprintf("%s lacks %s", r.node, r.text))
		}
	}
	for _, r := range here {
		if !slices.ContainsFunc(there, r.is) {
			out = append(out, fmt.Sprintf("%s has %s", r.node, r.text))
		}
	}
	return out
}

// twinOf is the same check of another run; nil if it has none.
func twinOf(c *scenarios.Check, r *scenarios.Result) *scenarios.Check {
	for i := range r.Checks {
		if t := &r.Checks[i]; t.At == c.At && t.Step == c.Step && t.Name == c.Name && t.Tool == c.Tool {
			return t
		}
	}
	return nil
}

// rule is one that a packet met on a node.
type rule struct{ node, text string }

// hashes end the names of chains; they are made of addresses, which are others in each cluster.
var hashes = regexp.MustCompile(`(KUBE-(?:SVC|SVL|SEP|EXT|FW|XLB)-)[A-Z2-7]{16}`)

// is reports whether two rules are one, in clusters of other addresses.
func (r rule) is(other rule) bool {
	return r.node == other.node && hashes.ReplaceAllString(r.text, "$1") == hashes.ReplaceAllString(other.text, "$1")
}

// rulesOf are the rules of ways, there and back, each once.
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
