package nftdiffer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/kindtest/internal/toolrun"
)

// excuse is why two answers need not be the same; empty if they must be.
func excuse(s *step, theirs, ours toolrun.Run) string {
	if what := lacks(&theirs, &ours); what != "" {
		return what
	}
	switch {
	case isGarbage(s, theirs, ours):
		return "the real tool prints unwritten memory, or nothing, when it echoes intervals of concatenations or IPv6 addresses"
	case slices.Contains(s.Args, "-e") && strings.Contains(theirs.Stdout, " __chain"):
		return "the real tool echoes a chain without a name by a number that counts those of all namespaces"
	case slices.Contains(s.Args, "-j") && sameButForTables(theirs, ours):
		return "the real tool lists the only flag of a table as JSON from memory that it has freed"
	case sameButForFlags(theirs, ours):
		return "the real tool lists flags that share their lowest bit in the order of the kernel's hash"
	}
	return ""
}

// tableFlag is the only flag of a table in JSON, or nothing more: the real tool stops at what is no text.
var tableFlag = regexp.MustCompile(`(\{"table": \{[^{}]*"flags": )(?:"(?:[^"\\]|\\.)*"|\n$)`)

// sameButForTables says whether two listings are the same but for flags of tables, of which the real tool keeps no reference while it takes
// them out of a list (table_flags_json in src/json.c).
func sameButForTables(theirs, ours toolrun.Run) bool {
	theirs.Stdout, ours.Stdout = tableFlag.ReplaceAllString(theirs.Stdout, "$1?"), tableFlag.ReplaceAllString(ours.Stdout, "$1?")
	if listed, cut := strings.CutSuffix(theirs.Stdout, `"flags": ?`); cut && strings.HasPrefix(ours.Stdout, listed) {
		return theirs.Status == ours.Status && theirs.Stderr == ours.Stderr
	}
	return theirs == ours
}

// flagSet is a set or map of flags, one of which at least stands for several bits.
var flagSet = regexp.MustCompile(`\{ [^{}]*\|[^{}]*\}`)

// sameButForFlags says whether two answers are the same once the elements of sets of flags are sorted: the real tool compares flags by
// their lowest bit, and leaves those with the same one in the order of the kernel's hash, whose seed is random.
func sameButForFlags(theirs, ours toolrun.Run) bool {
	theirs.Stdout, ours.Stdout = flagsSorted(theirs.Stdout), flagsSorted(ours.Stdout)
	return theirs == ours
}

func flagsSorted(text string) string {
	var tree any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &tree) == nil {
		sortFlags(tree)
		sorted, err := json.Marshal(tree)
		if err == nil {
			return string(sorted)
		}
	}
	return flagSet.ReplaceAllStringFunc(text, func(set string) string {
		items := strings.Split(strings.Trim(set, "{} "), ", ")
		slices.Sort(items)
		return strings.Join(items, ", ")
	})
}

// sortFlags sorts the lists of sets in which flags are joined.
func sortFlags(tree any) {
	switch tree := tree.(type) {
	case []any:
		for _, inner := range tree {
			sortFlags(inner)
		}
	case map[string]any:
		for key, inner := range tree {
			sortFlags(inner)
			list, isList := inner.([]any)
			if key != "set" || !isList || !strings.Contains(fmt.Sprint(inner), "map[|:") {
				continue
			}
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
}

// lacks is what the fake has refused by name, or why it need not say what the real tool says.
func lacks(theirs, ours *toolrun.Run) string {
	if theirs.Status > toolrun.StatusSignal {
		return fmt.Sprintf("the real tool was ended by signal %d", theirs.Status-toolrun.StatusSignal)
	}
	_, what, found := strings.Cut(ours.Stderr, "chainwalk does not support ")
	if !found {
		return ""
	}
	what, _, _ = strings.Cut(what, "\n")
	return what
}

// isGarbage says whether an echo differs in nothing but elements of sets of concatenations or IPv6 addresses, of which the real tool
// prints, for sets of intervals, what its memory happened to hold, or nothing.
func isGarbage(s *step, theirs, ours toolrun.Run) bool {
	if !slices.Contains(s.Args, "-e") {
		return false
	}
	var odd []string // how lines of such a set begin
	for line := range strings.Lines(ours.Stdout) {
		if strings.HasPrefix(line, "add element ") && (strings.Contains(line, " . ") || strings.Contains(line, "::")) {
			set, _, _ := strings.Cut(line, "{")
			odd = append(odd, set)
		}
	}
	if odd == nil {
		return false
	}
	for _, run := range []*toolrun.Run{&theirs, &ours} {
		lines := slices.DeleteFunc(slices.Collect(strings.Lines(run.Stdout)), func(line string) bool {
			isOf := func(set string) bool { return strings.HasPrefix(line, set) }
			return slices.ContainsFunc(odd, isOf) || run == &theirs && strings.HasPrefix(line, "\t\t\t")
		})
		run.Stdout = strings.Join(lines, "")
	}
	return theirs == ours
}
