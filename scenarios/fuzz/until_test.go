package fuzz

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/oracle"
	"github.com/chainwalk/chainwalk/scenarios/trial"
)

func TestRunUntilFoundEndsAtTheFirstFailure(t *testing.T) {
	cases := 0
	result, err := Run(t.Context(), Options{
		Seed: 1, Runs: 10, UntilFound: true, Shrinks: -1,
		Try: func(context.Context, *scenarios.Scenario) (*trial.Report, error) {
			cases++
			if cases < 3 {
				return &trial.Report{}, nil
			}
			return &trial.Report{Findings: []trial.Finding{{Clause: oracle.NoStaleChain}}}, nil
		},
	})
	require.NoError(t, err)
	assert.Equal(t, 3, result.Cases)
	require.Len(t, result.Failures, 1)
	assert.Equal(t, 2, result.Failures[0].Case)
	assert.Equal(t, 3+1, cases, "it was not made small, only asked again what is wrong with it")
}
