package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter"
)

func TestRulesWalked(t *testing.T) {
	for _, row := range []struct {
		name  string
		steps string // of one host, as TRACE spells them; with a + where there is a rule
		want  int
	}{
		{"an empty chain", "filter:FORWARD:policy:1", 0},
		{"the end of a chain of three", "filter:FORWARD:policy:4", 3},
		{"a rule without a condition is no end", "filter:FORWARD:policy:4+", 4},
		{"the second rule", "nat:PREROUTING:rule:2+", 2},
		{"there and back", "nat:PREROUTING:rule:2+ nat:A:return:5 nat:PREROUTING:policy:4", 2 + 4 + 1},
		{"twice in one chain", "nat:PREROUTING:rule:1+ nat:A:return:3 nat:PREROUTING:rule:2+ nat:A:return:3 nat:PREROUTING:policy:3", 6},
		{"two deep", "nat:OUTPUT:rule:1+ nat:A:rule:3+ nat:B:rule:2+", 6},
		{"out of two at once, by a rule with a goto", "nat:OUTPUT:rule:1+ nat:A:rule:3+ nat:B:return:3 nat:OUTPUT:policy:3", 1 + 3 + 2 + 1},
		{"several tables",
			"mangle:FORWARD:policy:1 filter:FORWARD:rule:1+ filter:A:return:2 filter:FORWARD:policy:2 nat:POSTROUTING:policy:3", 1 + 1 + 2,
		},
		{"again by another hook", "nat:OUTPUT:rule:1+ nat:A:return:3 nat:OUTPUT:policy:2 nat:PREROUTING:rule:1+ nat:A:return:3", 6},
		{"one chain of each tools", "nft/filter:INPUT:rule:3+ legacy/filter:INPUT:rule:2+ legacy/filter:A:return:2 legacy/filter:INPUT:policy:3",
			3 + 2 + 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			var steps []TraceStep
			for _, word := range strings.Fields(row.steps) {
				at, hasRule := strings.CutSuffix(word, "+")
				backend, ofBoth := "", strings.Contains(at, "/")
				if ofBoth {
					backend, at, _ = strings.Cut(at, "/")
				}
				steps = append(steps, TraceStep{Dialect: netfilter.Dialect(backend), At: at})
				if hasRule {
					steps[len(steps)-1].Rule = "-A CHAIN -j X"
				}
			}
			w := Way{Forward: []Hop{{Steps: steps}, {}, {Steps: steps}}}
			assert.Equal(t, 2*row.want, w.RulesWalked())
		})
	}
}
