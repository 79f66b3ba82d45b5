package trial

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// TestAllPacketsAfterAPartialSync: partial syncs put a rule for clients that no trial has at the end of a chain, and full ones at its
// beginning. The rules are the same, and no connection is treated differently, but other packets are.
func TestAllPacketsAfterAPartialSync(t *testing.T) {
	const extra = "-s 203.0.113.7/32 -j RETURN\n"
	ofWeb := regexp.MustCompile(`(?m)(?:^-A KUBE-SVC-\S+ .*default/web.*\n)+`)
	misplacing := editing(func(in string) string {
		return ofWeb.ReplaceAllStringFunc(in, func(rules string) string {
			rule := strings.Join(strings.Fields(rules)[:2], " ") + " " + extra
			if strings.Contains(in, ":KUBE-FORWARD ") {
				return rule + rules
			}
			return rules + rule
		})
	})
	s := read(t, cluster+web(onNode1))
	report, err := Run(t.Context(), s, Options{Proxier: misplacing, allPackets: true})
	require.NoError(t, err)
	require.NotEmpty(t, report.Violations)
	found := report.Violations[0]
	assert.Equal(t, oracle.PartialEqualsFull, found.Clause)
	assert.Contains(t, found.Want, "203.0.113.7")
	sound, err := Run(t.Context(), s, Options{allPackets: true})
	require.NoError(t, err)
	assert.Empty(t, sound.Violations)
}
