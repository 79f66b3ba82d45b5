package oracle_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

var update = flag.Bool("update", false, "write docs/specification.md")

const documentPath = "../../../docs/specification.md"

// TestSpecificationIsFresh compares docs/specification.md with the clauses and what exercises them.
func TestSpecificationIsFresh(t *testing.T) {
	text := document(t)
	if *update {
		require.NoError(t, os.WriteFile(documentPath, []byte(text), 0o644))
	}
	written, err := os.ReadFile(documentPath)
	require.NoError(t, err)
	assert.Equal(t, text, string(written), "stale: go test ./scenarios/spec/oracle -run TestSpecificationIsFresh -update")
}

func document(t *testing.T) string {
	exercises := exercisesOf(t)
	var out strings.Builder
	out.WriteString(`# Specification

This page lists what the Service API promises: what may happen to a packet in a Kubernetes cluster whose nodes run a service proxy in
mode iptables or mode nftables. Each sentence is a clause of package ` + "`scenarios/spec/oracle`" +
		`, which judges packets by these clauses; the
report of a failure names the broken one. This page is generated from the package:
` + "`go test ./scenarios/spec/oracle -run TestSpecificationIsFresh -update`" + `.

MUST, MAY and UNSPECIFIED say how binding a clause is. UNSPECIFIED means that the sources leave something open; every outcome that the
clause names is then allowed. A clause that names a mode applies to nodes in that mode. The part "What mode nftables does
otherwise" lists how that mode differs, with the sentence of Kubernetes' documents that tells users. ` +
		`Each clause belongs to one of these laws:

| law | meaning |
|---|---|
| I1 | a new connection to a live service reaches exactly one usable endpoint |
| I2 | replies come back from the address that was called |
| I3 | without a usable endpoint, packets are rejected or dropped as the policy says, never lost, and never reach a process of the node |
| I4 | the source is kept or masqueraded as policy and path require |
| I5 | other traffic than that of services is untouched |
| I6 | behaviour depends only on the current objects |
| I7 | failures change nothing, and heal |
| I8 | no state of a flow outlives its endpoint |
| I9 | loopback addresses of nodes cannot be reached from outside |
| I10 | affinity lasts as long as it should |
| I11 | the tools accept the rules and read them back |
| I12 | costs are bounded |
`)
	for _, chapter := range oracle.Chapters() {
		fmt.Fprintf(&out, "\n## %s\n", chapter.Title)
		for _, c := range chapter.Clauses {
			fmt.Fprintf(&out, "\n### %s\n\n%s\n\n", c.Name, wrapped(fmt.Sprintf("%s, %s. %s", c.Force, c.Law, c.Text), ""))
			lines := []string{"Sources: " + strings.Join(c.Source, "; ")}
			if c.Sentence.Text != "" {
				lines = append(lines, fmt.Sprintf("[Told to users](%s): %q", c.Sentence.Document, c.Sentence.Text))
			}
			for _, line := range append(lines, exercises[c]...) {
				fmt.Fprintf(&out, "- %s\n", wrapped(line+".", "  "))
			}
		}
	}
	return out.String()
}

// wrapped breaks a text into lines; all but the first are indented.
func wrapped(text, indent string) string {
	const width = 138
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			out.WriteString("\n" + indent)
			column = len(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}

// exercisesOf says of each clause what exercises it: tests, shipped scenarios, and the proxier's decisions that would break it.
func exercisesOf(t *testing.T) map[*oracle.Clause][]string {
	played, files := shipped(t), tests(t)
	out := map[*oracle.Clause][]string{}
	for _, c := range oracle.Clauses() {
		add := func(what string, names []string) {
			if len(names) > 0 {
				out[c] = append(out[c], what+": "+strings.Join(names, ", "))
			}
		}
		add("Tests", expecting(files, c))
		add("Scenarios", firstFew(played.files[c]))
		add("Decisions of the proxier that it judges", decisionsJudgedBy(c))
	}
	return out
}

// naming is a file of tests, or of their data, that may expect clauses.
type naming struct{ path, text string }

// tests are the files of tests, and their data.
func tests(t *testing.T) (out []naming) {
	for _, pattern := range []string{"testdata/answers/*", "*_test.go", "../../search/trial/*_test.go", "../../search/explore/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			out = append(out, naming{filepath.ToSlash(filepath.Join("scenarios/spec/oracle", file)), string(text)})
		}
	}
	return out
}

// expecting are the paths of those of the files that expect a clause.
func expecting(files []naming, c *oracle.Clause) (out []string) {
	for _, file := range files {
		if names(file.text, c.Name, strings.HasSuffix(file.path, ".go")) {
			out = append(out, "`"+file.path+"`")
		}
	}
	return out
}

// names says whether a text has a clause's name: in quotes in Go, otherwise as a word.
func names(text, name string, quoted bool) bool {
	if quoted {
		return strings.Contains(text, `"`+name+`"`)
	}
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }), name)
}

// firstFew shortens a list that would change with every new file.
func firstFew(files []string) []string {
	const few = 3
	slices.Sort(files)
	files = slices.Compact(files)
	for i := range files {
		files[i] = "`" + files[i] + "`"
	}
	return files[:min(few, len(files))]
}

func decisionsJudgedBy(c *oracle.Clause) []string {
	var out []string
	for _, m := range mark.All() {
		if slices.Contains(trial.Exercising(m), c) {
			out = append(out, m.String())
		}
	}
	return out
}
