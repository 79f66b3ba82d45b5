package trial

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBesideUnchanged has proxiers with mutations: one that writes the same, one that writes a rule more that makes no difference to any
// packet, and one whose rule makes a difference to packets that no trial has.
func TestBesideUnchanged(t *testing.T) {
	ofWeb := regexp.MustCompile(`(?m)(?:^-A KUBE-SVC-\S+ .*default/web.*\n)+`)
	for name, row := range map[string]struct {
		edit func(rules, chain string) string
		want string
	}{
		"the same":        {func(rules, _ string) string { return rules }, writtenAlike},
		"a rule too many": {func(rules, chain string) string { return rules + chain + " -d 203.0.113.9/32 -j RETURN\n" }, writtenOtherwise},
		"another way":     {func(rules, chain string) string { return chain + " -s 203.0.113.7/32 -j RETURN\n" + rules }, toldApart},
	} {
		t.Run(name, func(t *testing.T) {
			on := true
			proxier := editing(func(in string) string {
				return ofWeb.ReplaceAllStringFunc(in, func(rules string) string {
					if !on {
						return rules
					}
					return row.edit(rules, strings.Join(strings.Fields(rules)[:2], " "))
				})
			})
			var ends []string
			mutated = &mutation{
				without: func(do func() error) error {
					on = false
					defer func() { on = true }()
					return do()
				},
				tell: func(end string) { ends = append(ends, end) },
			}
			defer func() { mutated = nil }()
			report, err := Run(t.Context(), read(t, cluster+web(onNode1)), Options{Proxier: proxier})
			require.NoError(t, err)
			assert.Empty(t, report.Violations)
			require.NotEmpty(t, ends)
			for _, end := range ends {
				assert.True(t, strings.HasPrefix(end, row.want), end)
			}
			if row.want == toldApart {
				assert.Contains(t, ends[0], "203.0.113.7")
			}
		})
	}
}
