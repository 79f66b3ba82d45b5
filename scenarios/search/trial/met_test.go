package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of a small cluster's rules only one is not met by a new connection: it is about later packets.
func TestRulesMet(t *testing.T) {
	report, err := Run(t.Context(), read(t, cluster+nothing), Options{Rules: true})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	rules := report.Figures.Rules
	assert.Equal(t, RuleFigures{There: 6, Met: 6}, rules["nat -A KUBE-SEP -p -m -m -j DNAT --to-destination"], "three endpoints on two nodes")
	var unmet []string
	for kind, r := range rules {
		if r.Met == 0 {
			unmet = append(unmet, kind)
		}
	}
	assert.ElementsMatch(t, []string{"filter -A KUBE-FORWARD -m --ctstate INVALID -m --nfacct-name -j DROP"}, unmet)
}
