package peers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// row is one of the table of findings in the docs: the files, and whether v1.37.2 still does what they show.
var row = regexp.MustCompile("^\\| (`[^|]*`) \\| (yes|no) \\|")

// inNewest says of each finding by its file whether the docs have v1.37.2 do it.
func inNewest(t *testing.T) map[string]bool {
	text, err := os.ReadFile("../../../docs/findings.md")
	require.NoError(t, err)
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if cells := row.FindStringSubmatch(line); cells != nil {
			for name := range strings.SplitSeq(cells[1], ",") {
				out[strings.Trim(name, " `")] = cells[2] == "yes"
			}
		}
	}
	return out
}

// plays is how often a finding is played. Chance decides one of them, by the order of Go maps: kube-proxy passes its steps in every twentieth
// play.
var plays = map[string]int{"nft-shared-address": 10}

// fails says whether a backend fails a scenario of the findings in any play.
func fails(t *testing.T, s *scenarios.Scenario, backend scenarios.Backend) bool {
	t.Helper()
	for range max(plays[strings.TrimSuffix(filepath.Base(s.Pos.File), ".yaml")], 1) {
		result := scenarios.Run(t.Context(), s, backend)
		require.Empty(t, result.Skipped)
		if result.Failed() {
			return true
		}
	}
	return false
}

// TestFindings holds that each finding is one: kube-proxy does not do what the scenario expects, v1.37 as far as the docs say so, and this
// project's proxier does.
func TestFindings(t *testing.T) {
	all, err := scenarios.Load("../testdata/findings")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	stated := inNewest(t)
	for _, s := range all {
		name := strings.TrimSuffix(filepath.Base(s.Pos.File), ".yaml")
		still, ok := stated[name]
		assert.True(t, ok, "docs/findings.md does not say whether v1.37.2 has %s", name)
		delete(stated, name)
		assert.Equal(t, still || Minor < 37, fails(t, s, sim.Backend{Options: sim.Options{Proxier: Process}}), "%s with kube-proxy v1.%d",
			s.Pos.File, Minor)
		ours := scenarios.Run(t.Context(), s, sim.Backend{})
		assert.False(t, ours.Failed(), "%s: %+v", s.Pos.File, ours.Checks)
	}
	assert.Empty(t, stated, "docs/findings.md names findings without a file")
}

// TestFindingsOfBothModes holds that what mode iptables shares with mode nftables is found there too.
func TestFindingsOfBothModes(t *testing.T) {
	for _, name := range []string{
		"address-of-other-family", "conntrack-failure-forgotten", "flows-forgotten-by-failed-sync", "flows-of-changed-service",
		"flows-of-deleted-service", "flows-of-node-port-without-endpoints", "flows-of-other-machines",
	} {
		all, err := scenarios.Load("../testdata/findings/" + name + ".yaml")
		require.NoError(t, err)
		theirs := scenarios.RunIn(t.Context(), all[0], sim.Backend{Options: sim.Options{Proxier: Process}}, scenarios.ModeNFTables)
		assert.True(t, theirs.Failed(), name)
		ours := scenarios.RunIn(t.Context(), all[0], sim.Backend{}, scenarios.ModeNFTables)
		assert.False(t, ours.Failed(), "%s: %+v", name, ours.Checks)
	}
}
