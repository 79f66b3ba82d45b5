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
	// Files are those of the scenarios, each once. A scenario that fails in two ways is in two groups.
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
	type kind struct{ rule, difference string }
	groups, rules := map[kind]*FailureGroup{}, map[kind]map[string]bool{}
	var kinds []kind
	for _, r := range results {
		for i := range r.Checks {
			c := &r.Checks[i]
			if c.Passed {
				continue
			}
			rule := c.decidedBy()
			k := kind{kindOf(rule), c.differs(r)}
			if groups[k] == nil {
				groups[k], rules[k] = &FailureGroup{}, map[string]bool{}
				kinds = append(kinds, k)
			}
			rules[k][rule] = true
			if files := groups[k].Files; len(files) == 0 || files[len(files)-1] != r.File {
				groups[k].Files = append(files, r.File)
			}
		}
	}
	var out []FailureGroup
	for _, k := range kinds {
		g := groups[k]
		g.What = k.difference
		if k.rule != "" {
			g.What += ", decided by " + k.rule
		}
		if len(rules[k]) == 1 {
			for rule := range rules[k] {
				g.What = strings.Replace(g.What, k.rule, rule, 1)
			}
		}
		out = append(out, *g)
	}
	slices.SortStableFunc(out, func(a, b FailureGroup) int { return cmp.Compare(len(b.Files), len(a.Files)) })
	return out
}

// BrokenBy is how the first check that failed differs from what was expected, and the kind of the rule that decided there; empty if no rule
// did. It is the same for what the same fault breaks in other scenarios.
func (r *Result) BrokenBy() string {
	for i := range r.Checks {
		if c := &r.Checks[i]; !c.Passed {
			if kind := kindOf(c.decidedBy()); kind != "" {
				return c.differs(r) + ", decided by " + kind
			}
			return ""
		}
	}
	return ""
}

// decidedBy is the rule that decided about the packet of a check; empty if none did.
func (c *Check) decidedBy() string {
	if len(c.Ways) == 0 {
		return ""
	}
	return c.Ways[max(c.faulty, 0)].Rule
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
		return "could not " + c.Name
	case c.difference != "":
		return c.difference
	}
	return "another answer to: " + c.Name
}
