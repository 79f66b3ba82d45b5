package fakeipt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/netfilter"
)

// listColumns is where a listing without -v says what is not in its columns.
const listColumns = 61

// ruleReport is what a machine makes of one rule: how it saves and lists it, or why it refuses it.
func ruleReport(t *testing.T, m machine, tool, table, chain string, rule []string) string {
	run := func(args ...string) (string, string, int) {
		return m.run(t, append([]string{tool, "-t", table}, args...), "")
	}
	_, stderr, status := run(append([]string{"-A", chain}, rule...)...)
	if status != 0 {
		return result("", stderr, status)
	}
	var b strings.Builder
	b.WriteString(result("", stderr, 0))
	saved, _, _ := run("-S", chain)
	lines := strings.Split(strings.TrimSpace(saved), "\n")
	text := strings.TrimPrefix(lines[len(lines)-1], "-A "+chain)
	fmt.Fprintf(&b, "save%s\n", escapeText(text))
	if len(rule) > 0 {
		// What was saved must be good as input.
		_, stderr, status = run(append([]string{"-C", chain}, savedWords(t, text)...)...)
		b.WriteString(result("", stderr, status))
	}
	numeric, names := listedRule(run("-nL", chain)), listedRule(run("-L", chain))
	fmt.Fprintf(&b, "list%s\n", escapeText(numeric))
	if names != numeric {
		fmt.Fprintf(&b, "name%s\n", escapeText(names))
	}
	_, stderr, status = run("-F", chain)
	require.Zero(t, status, stderr)
	return b.String()
}

// listedRule is what a listing says of its last rule behind the columns.
func listedRule(stdout, _ string, _ int) string {
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	last := lines[len(lines)-1]
	return " " + last[min(len(last), listColumns):]
}

func savedWords(t *testing.T, line string) []string {
	var w xtables.WordList
	require.NoError(t, w.Add([]byte(line), 1))
	words := make([]string, len(w.Words))
	for i := range w.Words {
		words[i] = string(w.Words[i])
	}
	return words
}

// runRulesFile runs a file in which "rules TABLE CHAIN" and "rules6 TABLE CHAIN" are
// followed by rules, one a line, each of which is tried in an empty chain. The other
// directives are the directives of runCase.
func runRulesFile(t *testing.T, path string, machines map[netfilter.Dialect]machine) {
	for _, m := range machines {
		m.reset(t)
	}
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		tool, ok := map[string]string{"rules": "iptables", "rules6": "ip6tables"}[td.Cmd]
		if !ok {
			return bothResults(runCase(t, machines[netfilter.Legacy], netfilter.Legacy, td), runCase(t, machines[netfilter.NFT], netfilter.NFT, td))
		}
		var b strings.Builder
		for line := range strings.Lines(td.Input) {
			words := savedWords(t, line)
			reports := map[netfilter.Dialect]string{}
			for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
				reports[d] = ruleReport(t, machines[d], withDialect(tool, d), td.CmdArgs[0].Key, td.CmdArgs[1].Key, words)
			}
			nft := strings.ReplaceAll(reports[netfilter.NFT], "(nf_tables)", "(legacy)")
			if nft == reports[netfilter.Legacy] {
				reports[netfilter.NFT] = reports[netfilter.Legacy]
			}
			fmt.Fprintf(&b, "> %s\n%s", strings.TrimSuffix(line, "\n"), bothResults(reports[netfilter.Legacy], reports[netfilter.NFT]))
		}
		return b.String()
	})
}

// bothResults is one text for both dialects where they say the same.
func bothResults(legacy, nft string) string {
	switch {
	case legacy != nft:
		return "[legacy]\n" + legacy + "[nft]\n" + nft
	case legacy == "":
		return "ok\n"
	}
	return legacy
}

func TestRulesOnTheFakeKernel(t *testing.T) {
	race.OneGoroutine(t)
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		runRulesFile(t, path, newFakeMachines())
	})
}
