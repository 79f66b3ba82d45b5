package scenarios_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// TestFinding runs testdata: objects, or a scenario, and the mistakes in it.
func TestFinding(t *testing.T) {
	datadriven.Walk(t, "format/mistake/testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var found []mistake.Mistake
			switch d.Cmd {
			case "objects":
				objects, err := manifest.ReadObjects("in.yaml", strings.NewReader(d.Input))
				require.NoError(t, err)
				found = mistake.InObjects(objects)
			case "scenario":
				s, err := (&scenarios.Loader{Controller: controller.New}).Read("in.yaml", strings.NewReader(d.Input))
				require.NoError(t, err)
				found = mistake.InScenario(s)
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			var out strings.Builder
			for _, m := range found {
				out.WriteString(m.String() + "\n")
			}
			if out.Len() == 0 {
				return "nothing\n"
			}
			return out.String()
		})
	})
}

// TestShippedScenariosHaveNoMistakes but for those that they say to be their point.
func TestShippedScenariosHaveNoMistakes(t *testing.T) {
	files, err := (&scenarios.Loader{Controller: controller.New}).Load("testdata/cases", "testdata/regress")
	require.NoError(t, err)
	require.Greater(t, len(files), 190)
	for _, f := range files {
		require.NoError(t, f.Err)
		for _, m := range mistake.InScenario(f.Scenario) {
			assert.Fail(t, m.String())
		}
	}
}
