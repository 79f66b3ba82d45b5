package scenarios

import (
	"path/filepath"
	"strings"
	"testing"
)

// Test runs scenario files in a Go test: those that LoadEach finds at the paths, on a backend such as sim.Backend{}. Each file is a
// sub-test of its name without the ending, in it each variant of the tools, and in that each check of its name, so that -run chooses among
// them:
//
//	go test -run 'TestScenarios/hairpin/nft'
//
// A check that fails is an error with the same report that "chainwalk run" prints. A file that cannot be read, and a scenario that checks
// nothing, is a sub-test that fails. A scenario that its runsOn keeps from the backend is skipped.
func Test(t *testing.T, b Backend, paths ...string) {
	t.Helper()
	files, err := loadEach(nil, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(testName(strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))), func(t *testing.T) {
			if f.Err != nil {
				t.Fatal(f.Err)
			}
			Run(t.Context(), f.Scenario, b).test(t)
		})
	}
}

// test makes a sub-test of each check, by tool.
func (r *Result) test(t *testing.T) {
	t.Helper()
	if r.Skipped != "" {
		t.Skip(r.Skipped)
	}
	byTool := map[string][]*Check{}
	var tools []string
	for i := range r.Checks {
		c := &r.Checks[i]
		tool := string(c.Dialect)
		if c.Mode != "" {
			tool = c.tools()
		}
		if byTool[tool] == nil {
			tools = append(tools, tool)
		}
		byTool[tool] = append(byTool[tool], c)
	}
	for _, tool := range tools {
		if tool == "" { // of no variant: the scenario as a whole
			testAll(t, byTool[tool])
			continue
		}
		t.Run(testName(tool), func(t *testing.T) { testAll(t, byTool[tool]) })
	}
}

func testAll(t *testing.T, checks []*Check) {
	t.Helper()
	for _, c := range checks {
		t.Run(testName(c.Name), func(t *testing.T) { c.test(t) })
	}
}

func (c *Check) test(t *testing.T) {
	t.Helper()
	switch {
	case c.Skipped != "":
		t.Skip(c.Skipped)
	case !c.Passed:
		var b strings.Builder
		textCheck(&b, c, c.tools(), places(min(len(c.Ways), fewWays)))
		t.Error("\n" + b.String())
	}
}

// testName is a name of which -run makes no path.
func testName(name string) string { return strings.ReplaceAll(name, "/", "-") }
