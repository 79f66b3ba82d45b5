package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// nothingToTry are the pages about what a browser cannot do: commands on nodes and clusters, tests in Go, and the project itself.
var nothingToTry = []string{
	"README", "action", "add-a-match", "architecture", "ask", "diff", "forall", "gather", "go", "install", "kind", "kube-proxy-checklist",
	"migrate", "mutation", "performance", "playground", "programs", "proxy", "proxytest",
}

func writtenExamples(t *testing.T) []example {
	t.Helper()
	t.Chdir("../..")
	out := t.TempDir()
	require.NoError(t, writeExamples(out))
	text, err := os.ReadFile(filepath.Join(out, "examples.json"))
	require.NoError(t, err)
	var all []example
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

func TestEachPageHasAnExample(t *testing.T) {
	all := writtenExamples(t)
	shown, names := map[string]bool{}, map[string]bool{}
	for _, e := range all {
		shown[e.Page] = true
		assert.False(t, names[e.Name], "two examples are named %s", e.Name)
		names[e.Name] = true
	}
	pages, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	var without []string
	for _, page := range pages {
		if !shown[page] {
			without = append(without, page[len("docs/"):len(page)-len(".md")])
		}
		delete(shown, page)
	}
	assert.ElementsMatch(t, nothingToTry, without, "give the page an example, or name it among those with nothing to try")
	assert.Empty(t, shown, "there are examples of pages that are not there")
}

func TestExamplesOfRulesTakeTheirPackets(t *testing.T) {
	for _, e := range writtenExamples(t) {
		if e.Tab != "rules" {
			continue
		}
		in, err := inet.ParseInput(e.Packet)
		require.NoError(t, err, e.Name)
		var local []netip.Addr
		for word := range strings.FieldsFuncSeq(e.Local, func(r rune) bool { return r == ',' || r == ' ' }) {
			local = append(local, netip.MustParseAddr(word))
		}
		known := snapshot.RulesOptions{Local: local, Family: netfilter.IPv4, Devices: []string{in.In}}
		host, err := snapshot.HostOfSave(e.Name, strings.NewReader(e.Rules), known)
		require.NoError(t, err, e.Name)
		outcomes, err := host.Walk(in)
		require.NoError(t, err, e.Name)
		met := 0
		for _, o := range outcomes {
			met += len(o.Steps)
		}
		assert.NotZero(t, met, "%s: the packet meets no rule and no policy", e.Name)
	}
}
