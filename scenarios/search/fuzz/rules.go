package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writeRules prints the kinds of rules that no packet class met.
func (r *Result) writeRules(b *strings.Builder) {
	rules := r.Figures.Rules
	if len(rules) == 0 {
		return
	}
	var unmet []string
	for _, kind := range slices.Sorted(maps.Keys(rules)) {
		if rules[kind].Met == 0 {
			unmet = append(unmet, kind)
		}
	}
	fmt.Fprintf(b, "kinds of rules: %d of %d met by a new connection\n", len(rules)-len(unmet), len(rules))
	for _, kind := range unmet {
		fmt.Fprintf(b, "  not %s\n", kind)
	}
}
