package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// links are a page's links to other files, without the part behind "#".
var links = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// linksOf are the files that a page leads to, from the root of the repository.
func linksOf(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	require.NoError(t, err)
	var out []string
	for _, found := range links.FindAllSubmatch(text, -1) {
		out = append(out, filepath.Join(filepath.Dir(page), string(found[1])))
	}
	return out
}

// TestPagesLeadToPages: no link of the README and of docs leads nowhere, and the index leads to every page.
func TestPagesLeadToPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	index := linksOf(t, "docs/README.md")
	for _, path := range append(pages, "../../README.md") {
		page, err := filepath.Rel("../..", path)
		require.NoError(t, err)
		for _, to := range linksOf(t, page) {
			_, err := os.Stat(filepath.Join("../..", to))
			assert.NoError(t, err, "%s leads to %s", page, to)
		}
		if page != "README.md" && page != "docs/README.md" {
			assert.Contains(t, index, page, "docs/README.md has every page")
		}
	}
}

// program is a whole program in a page.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// TestProgramOfThePageOfTheAPIRuns as it stands there. To go it is a file of docs, not of another folder each time, so that it is built
// again only if something of it has changed.
func TestProgramOfThePageOfTheAPIRuns(t *testing.T) {
	text, err := os.ReadFile("../../docs/go.md")
	require.NoError(t, err)
	found := program.FindSubmatch(text)
	require.NotNil(t, found)
	file, err := filepath.Abs("../../docs/program_of_the_page.go")
	require.NoError(t, err)
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {file: write(t, "main.go", string(found[1]))}})
	require.NoError(t, err)
	cmd := exec.Command("go", "run", "-overlay", write(t, "overlay.json", string(replaced)), file)
	cmd.Stdin = strings.NewReader(
		"*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.10/32 -p udp -j DNAT --to-destination 10.244.0.2:5353\nCOMMIT\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "1 accept 10.244.0.2:5353\n", string(out))
}
