package differ

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// walkNumbers are what a walk differential compared.
type walkNumbers struct {
	Dialect       fakeipt.Dialect `json:"dialect"`
	Family        int             `json:"family"`
	Seed          uint64          `json:"seed"`
	Rulesets      int             `json:"rulesets"`
	Rules         int             `json:"rules"`
	Packets       int             `json:"packets"`
	Steps         int             `json:"steps"`
	Seconds       float64         `json:"seconds"`
	Refused       int             `json:"rulesetsRefusedByBoth"`
	Ended         map[string]int  `json:"endedEarly"` // reason to number of cases
	LeftOut       []leftOut       `json:"leftOut"`
	Fit           fit             `json:"chance"`
	Coverage      coverage        `json:"coverage"`
	Disagreements []disagreement  `json:"disagreements"`
}

// disagreement is one that was shrunk and written to a file.
type disagreement struct {
	What string `json:"what"`
	File string `json:"file"`
}

func (n *walkNumbers) add(v *verdict, c *walkCase) {
	n.Rulesets++
	n.Rules += strings.Count(c.Rules, "\n-A ")
	n.Packets += v.Packets
	n.Steps += v.Steps
	n.Coverage.add(c.Rules, v.Answer)
	if v.RulesRefused {
		n.Refused++
	}
	if v.Refused != "" {
		n.Ended[v.Refused]++
	}
}

// print writes the numbers for people.
func (n *walkNumbers) print(w io.Writer) {
	fmt.Fprintf(w, "walk %s IPv%d: seed %d, %d rulesets (%d refused by both), %d rules, %d packets, %d steps, %d disagreements, %.1f s\n",
		n.Dialect, n.Family, n.Seed, n.Rulesets, n.Refused, n.Rules, n.Packets, n.Steps, len(n.Disagreements), n.Seconds)
	fmt.Fprintf(w, "  chance: %d draws, chi-squared %.1f with %d degrees of freedom, p %.3g (false alarm below %g)\n",
		n.Fit.Draws, n.Fit.ChiSquared, n.Fit.Freedom, n.Fit.P, falseAlarm)
	n.Coverage.print(w, n.Family)
	for _, l := range n.LeftOut {
		fmt.Fprintf(w, "  left out: %s: %s\n", l.Piece, l.Reason)
	}
	for _, reason := range sortedKeys(n.Ended) {
		fmt.Fprintf(w, "  ended early: %d of %d cases: %s\n", n.Ended[reason], n.Rulesets, reason)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
