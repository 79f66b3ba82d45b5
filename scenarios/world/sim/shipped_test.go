package sim

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/document"
	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
)

// shipped are all scenarios that come with the project.
var shipped = sync.OnceValues(func() ([]*scenarios.Scenario, error) { return scenarios.Load("../../testdata") })

// TestCases plays shipped scenarios, every fourth one (internal/sample), with both kinds of tools where a file does not say otherwise. A
// scenario is played once as it is, with proxiers that are told of objects by informers, while Reach is asked of each connection too. It
// is played again as Write has made it and Read has read that, with proxiers that are told directly: all of the report is the same but for
// the places in the file, ways included. Package oracle and TestRegressionsHold play all shipped scenarios in each run.
func TestCases(t *testing.T) {
	all, err := shipped()
	require.NoError(t, err)
	some := race.Some(sample.Some(t, all, 4), 2)
	var asked atomic.Int64
	t.Run("all", func(t *testing.T) {
		for i, s := range some {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				reach := &reachBackend{t: t, attempts: i}
				result := scenarios.Run(t.Context(), s, reach)
				asked.Add(int64(reach.asked))
				held(t, result)
				assert.False(t, len(result.Checks) == 0 && result.Skipped == "", "it checks nothing")
				direct := Backend{Options{Direct: true, OneFamily: true}}
				if informed, again := reportOf(t, result), reportOf(t, scenarios.Run(t.Context(), rewritten(t, s), direct)); informed != again {
					assert.Equal(t, informed, again)
				}
			})
		}
	})
	t.Logf("%d connections asked of Reach", asked.Load())
	assert.Greater(t, int(asked.Load()), 5000*len(some)/len(all)/2, "of all files, or of those that are taken")
}

// TestRegressionsHold plays what the search has written into the project, all of it in each run, as package oracle does with the other
// shipped scenarios.
func TestRegressionsHold(t *testing.T) {
	race.OneGoroutine(t)
	all, err := scenarios.Load("../../testdata/regress")
	require.NoError(t, err)
	for _, s := range all {
		held(t, scenarios.Run(t.Context(), s, Backend{Options{Direct: true, OneFamily: true}}))
	}
}

// TestCasesInModeNFTables plays all shipped scenarios in mode nftables too: what comes of each packet is as the file says,
// or as a document tells users of that mode.
func TestCasesInModeNFTables(t *testing.T) {
	all, err := shipped()
	require.NoError(t, err)
	for _, s := range race.Some(all, 8) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			held(t, scenarios.RunIn(t.Context(), s, Backend{Options{Direct: true, OneFamily: true}}, scenarios.ModeNFTables))
		})
	}
}

// held fails the test with a report if a check of a scenario failed.
func held(t *testing.T, result *scenarios.Result) {
	t.Helper()
	if result.Failed() {
		var report strings.Builder
		require.NoError(t, scenarios.WriteText(&report, []*scenarios.Result{result}, scenarios.WaysFailed))
		t.Error(report.String())
	}
}

// rewritten is a scenario as it is after it was written and read.
func rewritten(t *testing.T, s *scenarios.Scenario) *scenarios.Scenario {
	var text strings.Builder
	require.NoError(t, scenarios.Write(&text, s))
	again, err := scenarios.Read(s.Pos.File, strings.NewReader(text.String()))
	require.NoError(t, err)
	return again
}

// reportOf is what there is to say of a result but for the places in the file.
func reportOf(t *testing.T, result *scenarios.Result) string {
	for i := range result.Checks {
		result.Checks[i].Position, result.Checks[i].At = document.Position{}, ""
	}
	var out strings.Builder
	require.NoError(t, scenarios.WriteJSON(&out, []*scenarios.Result{result}, scenarios.WaysAll))
	return out.String()
}
