package scenarios_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// TestARewrittenScenarioHasTheSameChecks runs what Write has made of each shipped file, and compares all of the result but for the places
// in the file.
func TestARewrittenScenarioHasTheSameChecks(t *testing.T) {
	all, err := scenarios.Load("testdata")
	require.NoError(t, err)
	for _, s := range race.Some(all, 6) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			require.NoError(t, scenarios.Write(&text, s))
			again, err := scenarios.Read(s.Pos.File, strings.NewReader(text.String()))
			require.NoError(t, err)
			if len(s.IPTables.Dialects) == 0 {
				s.IPTables.Dialects = []netfilter.Dialect{netfilter.Legacy} // a quarter of the time
				again.IPTables.Dialects = s.IPTables.Dialects
			}
			assert.Equal(t, checksOf(t, s), checksOf(t, again))
		})
	}
}

// TestAGeneratedScenarioIsReadBackAsItIs writes generated scenarios, which have what no shipped file has together.
func TestAGeneratedScenarioIsReadBackAsItIs(t *testing.T) {
	for seed := uint64(0); seed < 100; seed += uint64(race.Every(4)) {
		var once, twice strings.Builder
		require.NoError(t, scenarios.Write(&once, gen.Example(gen.Options{}, seed)))
		again, err := scenarios.Read("generated.yaml", strings.NewReader(once.String()))
		require.NoError(t, err, once.String())
		require.NoError(t, scenarios.Write(&twice, again))
		require.Equal(t, once.String(), twice.String())
	}
}

func checksOf(t *testing.T, s *scenarios.Scenario) *scenarios.Result {
	t.Helper()
	result := scenarios.Run(t.Context(), s, sim.Backend{})
	for i := range result.Checks {
		result.Checks[i].Position, result.Checks[i].At = document.Position{}, ""
	}
	return result
}
