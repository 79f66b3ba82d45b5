package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
)

// The proxier is sound in everything that the shipped scenarios do.
func TestShippedScenariosHold(t *testing.T) {
	all, err := scenarios.Load("../testdata/cases")
	require.NoError(t, err)
	var sum Figures
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			report, err := Run(t.Context(), s, Options{})
			require.NoError(t, err)
			sum.Merge(&report.Figures)
			for _, f := range report.Findings {
				assert.Fail(t, f.Clause.Name, "%s: step %d %s %v %+v\nwant %s\ngot  %s", s.Pos.File, f.Step, f.Node, f.Point, f.Attempt, f.Want, f.Got)
			}
		})
	}
	t.Logf("%+v", sum)
}
