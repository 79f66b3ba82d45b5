package gen_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/gen/rapidgen"
)

// TestSeeds holds the scenario of a seed to the one that rapid makes of it.
func TestSeeds(t *testing.T) {
	text := func(s *scenarios.Scenario) string {
		var b bytes.Buffer
		require.NoError(t, scenarios.Write(&b, s))
		return b.String()
	}
	for _, o := range []gen.Options{{}, {Modes: true, Steps: 20}, {NFTables: true, NFTablesExtras: true, FarFlows: true}} {
		for seed := range uint64(50) {
			if !sample.Takes(t, int(seed), 4) {
				continue
			}
			require.Equal(t, text(rapidgen.Scenario(o).Example(int(seed))), text(gen.Example(o, seed)), "seed %d, %+v", seed, o)
		}
	}
}
