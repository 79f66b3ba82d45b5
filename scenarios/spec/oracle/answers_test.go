package oracle_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// specOf is the specification of the first state of a scenario, whose steps are left out.
func specOf(t *testing.T, text string) *oracle.Spec {
	t.Helper()
	s, err := scenarios.Read("cluster.yaml", strings.NewReader("name: cluster\n"+text+"\nsteps: [{sync: true}]\n"))
	require.NoError(t, err)
	c, err := scenarios.Resolve(s)
	require.NoError(t, err)
	return oracle.New(plan.Of(c).Oracle(c.Objects))
}

// attemptIn reads "FROM PROTOCOL ADDRESS:PORT [via NODE] [bind ADDRESS]".
func attemptIn(t *testing.T, line string) oracle.Attempt {
	t.Helper()
	words := strings.Fields(line)
	a := oracle.Attempt{From: words[0], Protocol: corev1.Protocol(strings.ToUpper(words[1]))}
	if a.Protocol == oracle.ICMP {
		a.To = netip.AddrPortFrom(netip.MustParseAddr(words[2]), 0)
	} else {
		a.To = netip.MustParseAddrPort(words[2])
	}
	for i := 3; i+1 < len(words); i += 2 {
		switch words[i] {
		case "via":
			a.Via = words[i+1]
		case "bind":
			a.Source = netip.AddrPortFrom(netip.MustParseAddr(words[i+1]), 0)
		}
	}
	return a
}

// TestAnswers reads clusters and attempts, and what the specification says of them with the clauses that say so.
func TestAnswers(t *testing.T) {
	datadriven.Walk(t, "testdata/answers", func(t *testing.T, path string) {
		var spec *oracle.Spec
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "cluster" {
				spec = specOf(t, d.Input)
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				answer := spec.Expect(attemptIn(t, line))
				var names []string
				for _, c := range answer.Clauses() {
					names = append(names, c.Name)
				}
				fmt.Fprintf(&out, "%s\n    %s\n", &answer, strings.Join(names, ", "))
			}
			return out.String()
		})
	})
}

// TestEveryClauseHasAnAnswer looks for each clause about packets in the expectations of TestAnswers.
func TestEveryClauseHasAnAnswer(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(all.String(), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' }) {
		words[word] = true
	}
	for _, chapter := range oracle.Chapters()[:5] {
		for _, c := range chapter.Clauses {
			assert.True(t, words[c.Name], "%s: no answer has it", c.Name)
		}
	}
}
