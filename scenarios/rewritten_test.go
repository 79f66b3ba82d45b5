package scenarios_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
)

// TestAGeneratedScenarioIsReadBackAsItIs writes generated scenarios, which have what no shipped file has together.
func TestAGeneratedScenarioIsReadBackAsItIs(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(100) {
		if !sample.Takes(t, int(seed), 4) {
			continue
		}
		var once, twice strings.Builder
		require.NoError(t, scenarios.Write(&once, gen.Example(gen.Options{}, seed)))
		again, err := scenarios.Read("generated.yaml", strings.NewReader(once.String()))
		require.NoError(t, err, once.String())
		require.NoError(t, scenarios.Write(&twice, again))
		require.Equal(t, once.String(), twice.String())
	}
}
