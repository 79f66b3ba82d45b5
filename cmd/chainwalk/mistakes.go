package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/format/mistake"
)

// warnOfMistakes says on standard error what is likely to be wrong with scenarios that are about to run.
func warnOfMistakes(s streams, files []scenarios.File) {
	for _, f := range files {
		if f.Scenario != nil {
			warnOf(s, mistake.InScenario(f.Scenario))
		}
	}
}

// warnOfObjects says on standard error what is likely to be wrong with objects.
func warnOfObjects(s streams, objects []manifest.Object) { warnOf(s, mistake.InObjects(objects)) }

func warnOf(s streams, mistakes []mistake.Mistake) {
	for _, m := range mistakes {
		if m.Kind != mistake.NothingChecked { // which is a failure of its own
			fmt.Fprintf(s.errOut, "chainwalk: warning: %s\n", m)
		}
	}
}

// ignored counts what --ignore-unknown passes over, by file.
type ignored struct {
	offered, on bool // the command has the flag; it is given
	files       map[string]map[string]int
}

func (i *ignored) addFlag(flags *pflag.FlagSet) {
	i.offered = true
	flags.BoolVar(&i.on, "ignore-unknown", false,
		"skip objects of other kinds and unknown fields, as in the output of kubectl get all and of newer clusters")
}

// ignore is what readers of objects tell of what they pass over; nil if nothing is to be.
func (i *ignored) ignore() func(document.Position, string) {
	if !i.on {
		return nil
	}
	i.files = map[string]map[string]int{}
	return func(at document.Position, what string) {
		if i.files[at.File] == nil {
			i.files[at.File] = map[string]int{}
		}
		i.files[at.File][what]++
	}
}

// warn says on standard error what was passed over, a line for each file.
func (i *ignored) warn(s streams) {
	for _, file := range slices.Sorted(maps.Keys(i.files)) {
		counts := i.files[file]
		kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
		})
		for k, kind := range kinds {
			kinds[k] = fmt.Sprintf("%d of %s", counts[kind], kind)
			if field, is := strings.CutPrefix(kind, "field "); is {
				kinds[k] = field
			}
		}
		fmt.Fprintf(s.errOut, "chainwalk: warning: %s: ignored: %s\n", file, strings.Join(kinds, ", "))
	}
}
