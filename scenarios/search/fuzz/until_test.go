package fuzz

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

func TestRunUntilFoundEndsAtTheFirstFailure(t *testing.T) {
	cases := 0
	result, err := Run(t.Context(), Options{
		Seed: 1, Runs: 10, UntilFound: true, Shrinks: -1,
		try: func(context.Context, *scenarios.Scenario) (*trial.Report, error) {
			cases++
			if cases < 3 {
				return &trial.Report{}, nil
			}
			return &trial.Report{Violations: []trial.Violation{{Clause: oracle.NoStaleChain}}}, nil
		},
	})
	require.NoError(t, err)
	assert.Equal(t, 3, result.Cases)
	require.Len(t, result.Failures, 1)
	assert.Equal(t, 2, result.Failures[0].Case)
	assert.Equal(t, 3, cases, "it was not made small, nor asked again")
}

// TestFailuresAreSaidOfTheScenarioThatShowedThem has a proxier that chance decides about: what is said of the small scenario is what
// was seen there, though another try of it shows nothing.
func TestFailuresAreSaidOfTheScenarioThatShowedThem(t *testing.T) {
	asked := map[*scenarios.Scenario]bool{}
	result, err := Run(t.Context(), Options{
		Seed: 1, Runs: 1, Shrinks: 200,
		try: func(_ context.Context, s *scenarios.Scenario) (*trial.Report, error) {
			if asked[s] {
				return &trial.Report{}, nil
			}
			asked[s] = true
			f := trial.Violation{Clause: oracle.NoStaleChain, Step: len(s.Steps), Check: []scenarios.Step{{Sync: &scenarios.NodeSet{All: true}}}}
			return &trial.Report{Violations: []trial.Violation{f}}, nil
		},
	})
	require.NoError(t, err)
	require.Len(t, result.Failures, 1)
	small, err := scenarios.Read("small.yaml", strings.NewReader(result.Failures[0].File))
	require.NoError(t, err)
	assert.Len(t, small.Steps, result.Failures[0].Step+1, "its steps and the check")
}
