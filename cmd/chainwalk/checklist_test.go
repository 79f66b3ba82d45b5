package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A name in the list of what kube-proxy tests: a file, or a test in it, or a row of that test's table.
var (
	checklistName = regexp.MustCompile("`([^`]+)`")
	checklistTest = regexp.MustCompile(`^(\S+_test\.go) (Test\w+)(?: (".+"))?$`)
)

// Whoever renames a test gets to know that the list names it.
func TestChecklistNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "kube-proxy-checklist.md"))
	require.NoError(t, err)
	names := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[2]) == "here" {
			assert.NotContains(t, line, "| `", "a row with other cells")
			continue
		}
		found := checklistName.FindAllStringSubmatch(cells[2], -1)
		assert.NotEmpty(t, found, line)
		assert.Empty(t, strings.Trim(checklistName.ReplaceAllString(cells[2], ""), " ,\n"), "nothing but names: %s", line)
		for _, name := range found {
			checkChecklistName(t, name[1])
			names++
		}
	}
	assert.Greater(t, names, 100)
}

// The flags in the documentation of the command are the command's.
func TestProxyFlagsInDocsExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "proxy.md"))
	require.NoError(t, err)
	flags := newProxyCommand(streams{}).Flags()
	named := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "curl ") {
			continue
		}
		for _, flag := range regexp.MustCompile("--([a-z-]*[a-z])").FindAllStringSubmatch(line, -1) {
			assert.NotNil(t, flags.Lookup(flag[1]), line)
			named++
		}
	}
	assert.Greater(t, named, 10)
}

// The documentation of the commands that search and judge names their flags, each of them and no other.
func TestFlagsOfSearchAndJudgementAreDocumented(t *testing.T) {
	commands := map[string][]*cobra.Command{
		"fuzz.md":           {newFuzzCommand(streams{})},
		"live.md gather.md": {newDoctorCommand(streams{}), newScenarioFromCommand(streams{}), newGatherCommand(streams{})},
	}
	for page, documented := range commands {
		var text []byte
		for name := range strings.FieldsSeq(page) {
			more, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
			require.NoError(t, err)
			text = append(text, more...)
		}
		named := map[string]bool{}
		for _, flag := range regexp.MustCompile("(?m)[` ]--?([a-z-]*[a-z])").FindAllStringSubmatch(string(text), -1) {
			named[flag[1]] = true
		}
		for _, cmd := range documented {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				assert.True(t, named[f.Name] || f.Shorthand != "" && named[f.Shorthand], "%s: --%s of %s", page, f.Name, cmd.Name())
			})
		}
	}
}

func checkChecklistName(t *testing.T, name string) {
	t.Helper()
	file, test, row := name, "", ""
	if parts := checklistTest.FindStringSubmatch(name); parts != nil {
		file, test, row = parts[1], parts[2], parts[3]
	}
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
	if !assert.NoError(t, err, name) {
		return
	}
	if test == "" {
		data := strings.HasPrefix(file, "scenarios/testdata/cases/") || strings.HasPrefix(file, "proxier/testdata/rules/")
		assert.True(t, data, "%s is no data that a test reads", name)
		return
	}
	_, body, found := strings.Cut(string(text), "\nfunc "+test+"(t *testing.T")
	assert.True(t, found, "%s: no such test", name)
	body, _, _ = strings.Cut(body, "\n}\n")
	assert.True(t, strings.Contains(body, row), "%s: no such row", name)
}
