package fakeipt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
)

// listColumns is where a listing without -v says what is not in its columns.
const listColumns = 61

// ruleBench is a chain in which a machine is asked about rules.
type ruleBench struct {
	t                  *testing.T
	m                  machine
	tool, table, chain string
}

func (b ruleBench) run(args ...string) (stdout, stderr string, status int) {
	return b.m.run(b.t, append([]string{b.tool, "-t", b.table}, args...), "")
}

// atOnce is how many rules stand in the chain at once: the tools list it once for all of them.
const atOnce = 32

// reports are what a machine makes of rules: how it saves and lists each, or why it refuses it.
func (b ruleBench) reports(rules [][]string) (reports []string) {
	for some := range slices.Chunk(rules, atOnce) {
		reports = append(reports, b.reportsOf(some)...)
	}
	return reports
}

// reportsOf asks about rules in one chain. Where one of them makes several, such as one for each address, each half is asked about alone.
func (b ruleBench) reportsOf(rules [][]string) []string {
	reports := make([]string, len(rules))
	var there []int
	for i, rule := range rules {
		_, stderr, status := b.run(append([]string{"-A", b.chain}, rule...)...)
		reports[i] = result("", stderr, status)
		if status == 0 {
			there = append(there, i)
		}
	}
	if len(there) == 0 {
		return reports
	}
	saved, one := b.lines(1, len(there), "-S", b.chain)
	numeric, oneListed := b.lines(2, len(there), "-nL", b.chain)
	names, oneNamed := b.lines(2, len(there), "-L", b.chain)
	if len(rules) > 1 && !(one && oneListed && oneNamed) {
		b.empty()
		half := len(rules) / 2
		return append(b.reportsOf(rules[:half]), b.reportsOf(rules[half:])...)
	}
	b.empty()
	for k, i := range there {
		text := strings.TrimPrefix(saved[k], "-A "+b.chain)
		listed, named := listedRule(numeric[k]), listedRule(names[k])
		reports[i] += fmt.Sprintf("save%s\n%slist%s\n", escapeText(text), b.goodAsInput(rules[i], savedWords(b.t, text)), escapeText(listed))
		if named != listed {
			reports[i] += fmt.Sprintf("name%s\n", escapeText(named))
		}
	}
	return reports
}

// goodAsInput says what is wrong with what was saved of a rule, as input. What was saved as it was given has been good once.
func (b ruleBench) goodAsInput(rule, saved []string) string {
	if slices.Equal(rule, saved) {
		return ""
	}
	b.run(append([]string{"-A", b.chain}, rule...)...)
	defer b.empty()
	_, stderr, status := b.run(append([]string{"-C", b.chain}, saved...)...)
	return result("", stderr, status)
}

func (b ruleBench) empty() {
	_, stderr, status := b.run("-F", b.chain)
	require.Zero(b.t, status, stderr)
}

// lines are the last lines of what a listing prints, one for each rule, and whether there are as many below its head.
func (b ruleBench) lines(head, rules int, list ...string) (lines []string, oneEach bool) {
	stdout, _, _ := b.run(list...)
	all := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	return all[max(len(all)-rules, 0):], len(all) == head+rules
}

// listedRule is what a line of a listing says of its rule behind the columns.
func listedRule(line string) string { return " " + line[min(len(line), listColumns):] }

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
func runRulesFile(t *testing.T, path string, takes func(t testing.TB, i int) bool, machines map[netfilter.Dialect]machine) {
	for _, m := range machines {
		m.reset(t)
	}
	asked := 0
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		tool, ok := map[string]string{"rules": "iptables", "rules6": "ip6tables"}[td.Cmd]
		if !ok {
			return bothResults(runCase(t, machines[netfilter.Legacy], netfilter.Legacy, td), runCase(t, machines[netfilter.NFT], netfilter.NFT, td))
		}
		lines := strings.Split(strings.TrimSuffix(td.Input, "\n"), "\n")
		expected := strings.SplitAfter("\n"+td.Expected, "\n> ")[1:]
		var rules [][]string
		taken := make([]bool, len(lines))
		for i, line := range lines {
			asked++
			if taken[i] = takes(t, asked) || len(expected) != len(lines); taken[i] {
				rules = append(rules, savedWords(t, line))
			}
		}
		reports := map[netfilter.Dialect][]string{}
		for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			reports[d] = ruleBench{t, machines[d], withDialect(tool, d), td.CmdArgs[0].Key, td.CmdArgs[1].Key}.reports(rules)
		}
		var b strings.Builder
		at := 0
		for i, line := range lines {
			if !taken[i] {
				b.WriteString("> " + strings.TrimSuffix(expected[i], "> "))
				continue
			}
			legacy, nft := reports[netfilter.Legacy][at], reports[netfilter.NFT][at]
			at++
			if strings.ReplaceAll(nft, "(nf_tables)", "(legacy)") == legacy {
				nft = legacy
			}
			fmt.Fprintf(&b, "> %s\n%s", line, bothResults(legacy, nft))
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
		runRulesFile(t, path, sample.InAll, newFakeMachines())
	})
}
