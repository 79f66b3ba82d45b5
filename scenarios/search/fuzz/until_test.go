package fuzz

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestARunThatIsInterruptedHasWhatItFound: an interrupt while cases are judged ends the run, and nothing is shrunk. One that comes later
// ends the shrinking.
func TestARunThatIsInterruptedHasWhatItFound(t *testing.T) {
	for name, when := range map[string]int{"while it judges": 3, "while it shrinks": 12} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			try := func(ctx context.Context, _ *scenarios.Scenario) (*trial.Report, error) {
				if asked++; asked == when {
					cancel()
				}
				require.NoError(t, ctx.Err(), "what was begun is judged to its end")
				return &trial.Report{Violations: []trial.Violation{{Clause: oracle.NoStaleChain}}}, nil
			}
			r, err := Run(ctx, Options{Seed: 1, Runs: 10, Shrinks: 500, try: try})
			require.NoError(t, err)
			assert.True(t, r.Interrupted)
			assert.Equal(t, min(when, 10), r.Cases)
			require.Len(t, r.Failures, 1)
			assert.Equal(t, when, asked, "nothing was asked behind the interrupt")
			var b strings.Builder
			require.NoError(t, r.WriteText(&b, false))
			assert.Contains(t, b.String(), "interrupted: ")
			merged, err := Merge([]*Result{r})
			require.NoError(t, err)
			assert.True(t, merged.Interrupted)
		})
	}
}

// TestARunWhoseTimeIsOverIsNotInterrupted: a run that ends with its time shrinks its failures.
func TestARunWhoseTimeIsOverIsNotInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r, err := Run(t.Context(), Options{Seed: 1, Time: 90 * time.Minute, Shrinks: 50,
			try: func(context.Context, *scenarios.Scenario) (*trial.Report, error) {
				asked++
				time.Sleep(time.Hour) // by the bubble's clock
				return &trial.Report{Violations: []trial.Violation{{Clause: oracle.NoStaleChain}}}, nil
			}})
		require.NoError(t, err)
		assert.False(t, r.Interrupted)
		assert.Equal(t, 2, r.Cases)
		require.Len(t, r.Failures, 1)
		assert.Greater(t, asked, 2)
	})
}
