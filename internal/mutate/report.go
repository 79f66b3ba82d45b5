package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// score counts mutants.
type score struct{ all, noticed, argued, passed int }

func (s *score) String() string {
	return fmt.Sprintf("%4d mutants, %4d noticed: %5.1f of 100; %3d of the others argued; %5.1f of 100 of the %d that somebody comes by",
		s.all, s.noticed, percent(s.noticed, s.all), s.argued, percent(s.noticed, s.passed), s.passed)
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// report prints scores and survivors, and says whether each survivor is argued and none of the argued was noticed. The generator
// alone need not notice everything: what it does not is printed only.
func report(out io.Writer, s *schemata, results []result, list *argued, o options) (held bool) {
	held = true
	total, scores := &score{}, map[string]*score{}
	for _, r := range results {
		m := s.mutants[r.number-1]
		isArgued := list.has(m.name)
		folder := path.Dir(m.file)
		if scores[folder] == nil {
			scores[folder] = &score{}
		}
		for _, sum := range []*score{total, scores[folder]} {
			sum.add(r, isArgued)
		}
		switch {
		case o.with == "tests" && r.noticed && isArgued && !several(list, m.name):
			held = false
			fmt.Fprintf(out, "argued, but noticed by %s: %s\n", r.by, m.name)
		case !r.noticed && !isArgued:
			held = held && o.with != "tests"
			fmt.Fprintf(out, "%s:%d: not noticed%s: %s\n", m.file, m.line, passedBy(r), m.name)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(scores)) {
		fmt.Fprintf(out, "%-28s %s\n", folder, scores[folder])
	}
	fmt.Fprintf(out, "%-28s %s\n", "by "+o.with, total)
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

func (s *score) add(r result, isArgued bool) {
	s.all++
	if r.passed {
		s.passed++
	}
	switch {
	case r.noticed:
		s.noticed++
	case isArgued:
		s.argued++
	}
}
