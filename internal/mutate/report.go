package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// score counts mutants that are not equivalent, and those of them that were noticed.
type score struct{ all, noticed, equivalent, passed int }

func (s *score) String() string {
	return fmt.Sprintf("%4d of %4d mutants noticed: %5.1f of 100 (%5.1f of the %d that somebody comes by); %d equivalent ones are left out",
		s.noticed, s.all, percent(s.noticed, s.all), percent(s.noticed, s.passed), s.passed, s.equivalent)
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// report prints scores and survivors, and says whether each survivor is argued and none of the argued was noticed. The generator
// and the oracle alone need not notice everything: what they do not is printed only.
func report(out io.Writer, s *schemata, results []result, list *argued, o options) (held bool) {
	held = true
	total, judged, scores := &score{}, &score{}, map[string]*score{}
	for _, r := range results {
		m := s.mutants[r.number-1]
		equivalent, unjudged := has(list.Survivors, m.name), o.with == withFuzz && has(list.Unjudged, m.name)
		folder := path.Dir(m.file)
		if scores[folder] == nil {
			scores[folder] = &score{}
		}
		total.add(r, equivalent)
		scores[folder].add(r, equivalent)
		if !unjudged {
			judged.add(r, equivalent)
		}
		switch {
		case r.noticed && equivalent && !several(list, m.name):
			held = false
			fmt.Fprintf(out, "argued to be equivalent, but noticed by %s: %s\n", r.by, m.name)
		case !r.noticed && !equivalent && !unjudged:
			held = held && o.with != withTests
			fmt.Fprintf(out, "%s:%d: not noticed%s: %s\n", m.file, m.line, passedBy(r), m.name)
			if r.by != "" {
				fmt.Fprintf(out, "\t%s\n", r.by)
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(scores)) {
		fmt.Fprintf(out, "%-28s %s\n", folder, scores[folder])
	}
	fmt.Fprintf(out, "%-28s %s\n", "by "+o.with, total)
	if o.with == withFuzz {
		fmt.Fprintf(out, "%-28s %s\n", "of what they look at", judged)
	}
	return held
}

func passedBy(r result) string {
	if r.passed {
		return ""
	}
	return ", and nobody comes by it"
}

// several says whether the mutant is argued among others, of which some may be noticed.
func several(list *argued, name string) bool {
	return !slices.ContainsFunc(list.Survivors, func(s survivor) bool { return s.Mutant == name && !strings.HasSuffix(s.Mutant, "*") })
}

func (s *score) add(r result, equivalent bool) {
	if equivalent {
		s.equivalent++
		return
	}
	s.all++
	if r.passed {
		s.passed++
	}
	if r.noticed {
		s.noticed++
	}
}
