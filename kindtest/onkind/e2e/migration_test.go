package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/onkind/migration"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// TestTheSwitchHoldsInMemory: what make migrate-e2e expects of clusters holds in the simulator.
func TestTheSwitchHoldsInMemory(t *testing.T) {
	for _, m := range migration.Modes {
		t.Run("from "+m.From, func(t *testing.T) {
			s, err := migration.Scenario(m.From, m.To)
			require.NoError(t, err)
			result := scenarios.Run(t.Context(), s, sim.Backend{})
			require.Empty(t, result.Skipped)
			for i := range result.Checks {
				c := &result.Checks[i]
				assert.True(t, c.Passed, "%s %s: %s", c.At, c.Name, c.Wrong)
			}
		})
	}
}
