package scenarios

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// FailureGroup are the scenarios in which the same thing decided about a packet, and broke expectations in the same way.
type FailureGroup struct {
	// What is the rule that decided, and how what happened differs from what was expected; or why nothing could be looked at.
	What string
	// Files are the files of the scenarios, each once. A scenario that fails in two ways is in two groups.
	Files []string
}

// String is a line: the first files, and how many more.
func (g *FailureGroup) String() string {
	const shown = 3
	files := strings.Join(g.Files[:min(len(g.Files), shown)], ", ")
	if more := len(g.Files) - shown; more > 0 {
		files += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s: %s: %s", count(len(g.Files), "file"), g.What, files)
}

// FailureGroups groups what failed, those with the most files first.
func FailureGroups(results []*Result) []FailureGroup {
	groups, rules := map[string]*FailureGroup{}, map[string]map[string]bool{}
	var kinds []string
	for _, r := range results {
		for i := range r.Checks {
			c := &r.Checks[i]
			if c.Passed {
				continue
			}
			k := c.differs(r) + c.decided(kindOf)
			if groups[k] == nil {
				groups[k], rules[k] = &FailureGroup{}, map[string]bool{}
				kinds = append(kinds, k)
			}
			rules[k][c.differs(r)+c.decided(func(rule string) string { return rule })] = true
			if g := groups[k]; len(g.Files) == 0 || g.Files[len(g.Files)-1] != r.File {
				g.Files = append(g.Files, r.File)
			}
		}
	}
	var out []FailureGroup
	for _, k := range kinds {
		groups[k].What = k
		if len(rules[k]) == 1 {
			for only := range rules[k] { // there is no need to leave its names out
				groups[k].What = only
			}
		}
		out = append(out, *groups[k])
	}
	slices.SortStableFunc(out, func(a, b FailureGroup) int { return cmp.Compare(len(b.Files), len(a.Files)) })
	return out
}

// BrokenBy is how the first check that failed differs from what was expected, and the kind of the rule that decided there, or the reason
// without a rule; empty if there is neither. It is the same for what the same fault breaks in other scenarios.
func (r *Result) BrokenBy() string {
	for i := range r.Checks {
		if c := &r.Checks[i]; !c.Passed {
			if by := c.decided(kindOf); by != "" {
				return c.differs(r) + by
			}
			return ""
		}
	}
	return ""
}

// decided says which rule decided about the packet of a check, as it is to be spelled, or why it ended without one; empty if neither is
// known.
func (c *Check) decided(spell func(rule string) string) string {
	if len(c.Ways) == 0 {
		return ""
	}
	switch w := &c.Ways[max(c.faulty, 0)]; {
	case w.Rule != "":
		return ", decided by " + spell(w.Rule)
	case w.Reason != "":
		return ": " + w.Reason
	}
	return ""
}

// quoted is a comment of several words, in the text of a rule.
var quoted = regexp.MustCompile(`"[^"]*"`)

// kindOf is the kind of a rule, by its text; a policy is a kind of its own.
func kindOf(rule string) string {
	words := strings.Fields(quoted.ReplaceAllString(rule, "text"))
	if len(words) < 2 || words[0] != "-A" {
		return rule
	}
	return provenance.Kind(words[1], words[2:])
}

// differs is how what happened differs from what was expected, without names and addresses.
func (c *Check) differs(r *Result) string {
	switch {
	case r.Unread:
		return "could not be read"
	case c.Error:
		return fmt.Sprintf("the step could not be made (%s)", c.Name)
	case c.difference != "":
		return strings.TrimSuffix(c.difference, "; ")
	}
	return "another answer to: " + c.Name
}
