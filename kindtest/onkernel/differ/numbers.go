package differ

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/onkernel/nftdiffer"
	"github.com/chainwalk/chainwalk/netfilter"
)

// numbersPrefix begins the lines of JSON in which the kernel tests print what they compared.
const numbersPrefix = "differ-json "

// numbersLine is one such line: exactly one of its fields is set.
type numbersLine struct {
	Walk    *walkNumbers   `json:"walk,omitempty"`
	Text    *textNumbers   `json:"text,omitempty"`
	Replay  *replayNumbers `json:"replay,omitempty"`
	Options *optionNumbers `json:"options,omitempty"`
	// NFT is what the sessions of nft compared.
	NFT *nftdiffer.Numbers `json:"nft,omitempty"`
}

// optionNumbers are the options of extensions that the real tools were asked about, rule by rule.
type optionNumbers struct {
	All     int      `json:"all"`
	Asked   int      `json:"asked"`
	Missing []string `json:"missing"`
}

// walkNumbers are what a walk differential compared.
type walkNumbers struct {
	Dialect       netfilter.Dialect `json:"dialect"`
	Native        bool              `json:"native,omitempty"` // the rules are tables of nft
	Mixed         bool              `json:"mixed,omitempty"`  // rules of the other dialect, or of the legacy tools, stood beside them
	Family        int               `json:"family"`
	Seed          uint64            `json:"seed"`
	Rulesets      int               `json:"rulesets"`
	Rules         int               `json:"rules"`
	Packets       int               `json:"packets"`
	Steps         int               `json:"steps"`
	Seconds       float64           `json:"seconds"`
	Refused       int               `json:"rulesetsRefusedByBoth"`
	RefusedRules  int               `json:"rulesRefused,omitempty"` // native ones that nft does not take, which are left out
	Ended         map[string]int    `json:"endedEarly"`             // reason to number of cases
	LeftOut       []leftOut         `json:"leftOut"`
	Fit           fit               `json:"chance"`
	Coverage      coverage          `json:"coverage"`
	Disagreements []disagreement    `json:"disagreements"`
}

// disagreement is one that was shrunk and written to a file.
type disagreement struct {
	What string `json:"what"`
	File string `json:"file"`
}

func (n *walkNumbers) add(v *verdict, c *walkCase) {
	n.Rulesets++
	n.Rules += strings.Count(c.Rules, "\n-A ") + strings.Count(c.NFT, "\n"+nativeRule)
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
	fmt.Fprintf(w, "walk %s: seed %d, %d rulesets (%d refused by both), %d rules, %d packets, %d steps, %d disagreements, %.1f s\n",
		n.name(), n.Seed, n.Rulesets, n.Refused, n.Rules, n.Packets, n.Steps, len(n.Disagreements), n.Seconds)
	if n.Native {
		fmt.Fprintf(w, "  left out: %d rules that nft does not take\n", n.RefusedRules)
		n.Coverage.printNative(w)
		n.printEnded(w)
		return
	}
	fmt.Fprintf(w, "  chance: %d draws, chi-squared %.1f with %d degrees of freedom, p %.3g (false alarm below %g)\n",
		n.Fit.Draws, n.Fit.ChiSquared, n.Fit.Freedom, n.Fit.P, falseAlarm)
	n.Coverage.print(w, n.Family)
	for _, l := range n.LeftOut {
		fmt.Fprintf(w, "  left out: %s: %s\n", l.Piece, l.Reason)
	}
	n.printEnded(w)
}

// name is the row of the table that the numbers belong to.
func (n *walkNumbers) name() string {
	if n.Native {
		return fmt.Sprintf("nftables IPv%d", n.Family)
	}
	return rowName(n.Dialect, n.Family)
}

func (n *walkNumbers) printEnded(w io.Writer) {
	for _, reason := range sortedKeys(n.Ended) {
		fmt.Fprintf(w, "  ended early: %d of %d cases: %s\n", n.Ended[reason], n.Rulesets, reason)
	}
}

// replayNumbers are what a replay of the recorded walk cases compared.
type replayNumbers struct {
	Cases   int `json:"cases"`
	Packets int `json:"packets"`
	Steps   int `json:"steps"`
}

// textNumbers are what a text differential compared.
type textNumbers struct {
	Tool          string            `json:"tool,omitempty"` // the one that was compared, empty: all
	Dialect       netfilter.Dialect `json:"dialect"`
	Family        int               `json:"family"`
	Seed          uint64            `json:"seed"`
	Sessions      int               `json:"sessions"`
	Runs          int               `json:"textCases"` // tool runs compared
	Failing       int               `json:"failing"`   // runs that both sides refused
	Differ        int               `json:"differ"`    // runs that were not the same, be it for a reason that excuses it
	Seconds       float64           `json:"seconds"`
	Excused       map[string]int    `json:"excused"`   // reason to count
	Masked        map[string]int    `json:"masked"`    // reason to the number of runs in which a part is not compared
	LeftOut       map[string]int    `json:"leftOut"`   // reason to the number of runs that were not made
	Repeated      map[string]int    `json:"differing"` // kind of disagreement to count
	Disagreements []disagreement    `json:"disagreements"`
}

// what is the tool that was compared, or "text" for all.
func (n *textNumbers) what() string {
	if n.Tool == "" {
		return "text"
	}
	return "text-" + n.Tool
}

// print writes the numbers for people.
func (n *textNumbers) print(w io.Writer) {
	fmt.Fprintf(w,
		"%s %s IPv%d: seed %d, %d sessions, %d tool runs compared (%d of them refused by both), %d kinds of disagreement, %.1f s\n",
		n.what(), n.Dialect, n.Family, n.Seed, n.Sessions, n.Runs, n.Failing, len(n.Disagreements), n.Seconds)
	for _, reason := range sortedKeys(n.Excused) {
		fmt.Fprintf(w, "  excused: %d runs: %s\n", n.Excused[reason], reason)
	}
	for _, reason := range sortedKeys(n.Masked) {
		fmt.Fprintf(w, "  masked: %d runs: %s\n", n.Masked[reason], reason)
	}
	for _, reason := range sortedKeys(n.LeftOut) {
		fmt.Fprintf(w, "  left out: %d runs: %s\n", n.LeftOut[reason], reason)
	}
	for _, kind := range sortedKeys(n.Repeated) {
		fmt.Fprintf(w, "  differing: %d sessions: %s\n", n.Repeated[kind], kind)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
