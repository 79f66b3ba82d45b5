package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// reportVersion is raised when a field of the JSON report changes its meaning.
const reportVersion = 1

// Ways says which packets a report shows the way of.
type Ways string

// The choices.
const (
	WaysNone   Ways = "none"   // in a text none, in JSON those of checks that failed
	WaysFailed Ways = "failed" // those of checks that failed
	WaysOne    Ways = "one"    // and one of a packet that is answered
	WaysAll    Ways = "all"
)

// ParseWays reads one of the choices.
func ParseWays(s string) (Ways, error) {
	switch w := Ways(s); w {
	case WaysNone, WaysFailed, WaysOne, WaysAll:
		return w, nil
	}
	return "", fmt.Errorf("unknown word %q (want none, failed, one or all)", s)
}

// fewWays is as many ways of one packet as a person wants to read.
const fewWays = 3

// shows says whether a check is shown for its own sake, and the places of those of its ways that are.
func (w Ways) shows(c *Check) (ways []int, shown bool) {
	switch {
	case w == WaysAll:
		return places(len(c.Ways)), len(c.Ways) > 0 || !c.Passed
	case c.Passed:
		return nil, false
	case len(c.Ways) > fewWays && c.faulty >= 0:
		return []int{c.faulty}, true
	}
	return places(min(len(c.Ways), fewWays)), true
}

// places are 0 to n-1.
func places(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// sample is the packet that a report shows though nothing failed: of those that reach an endpoint and are answered, translated by a
// rule, one in mode iptables, if any is, of a scenario with few checks, which is a plain one, that is told in few lines; and where there
// is none the first of the last scenario that sends any.
type sample struct {
	check         *Check // nil: no scenario sends a packet
	way           int    // the place in its ways
	checks, lines int    // of its scenario, and of the way with the others; 0: the packet is not answered
}

// look holds the checks of a result against the sample so far.
func (s *sample) look(r *Result) {
	first := true
	for i := range r.Checks {
		c := &r.Checks[i]
		if len(c.Ways) == 0 {
			continue
		}
		if first && s.lines == 0 {
			s.check, s.way = c, 0
		}
		first = false
		for j := range c.Ways {
			lines := len(c.Ways) * c.Ways[j].linesThereAndBack()
			plainer := cmp.Or(cmp.Compare(c.Mode, s.check.Mode), cmp.Compare(len(r.Checks), s.checks), cmp.Compare(lines, s.lines)) < 0
			if c.Passed && lines > 0 && (s.lines == 0 || plainer) {
				*s = sample{c, j, len(r.Checks), lines}
			}
		}
	}
}

// linesThereAndBack are how many lines tell of a way to an endpoint and back, 0 of another way.
func (w *Way) linesThereAndBack() int {
	if w.End != Delivered || !w.Heard || w.Rule == "" || len(w.Back) == 0 {
		return 0
	}
	lines := 0
	for _, hops := range [][]Hop{w.Forward, w.Back} {
		for i := range hops {
			lines += 2 + len(hops[i].Steps)
		}
	}
	return lines
}

// sampleOf is the sample of results.
func sampleOf(results []*Result) sample {
	var s sample
	for _, r := range results {
		s.look(r)
	}
	return s
}

// timedResult is a result as JSON has it.
type timedResult struct {
	Result
	// Seconds is how long the run took, left out where there was no clock.
	Seconds float64 `json:"seconds,omitempty"`
}

// WriteJSON writes the results as one JSON document.
func WriteJSON(w io.Writer, results []*Result, ways Ways) error {
	sample := sampleOf(results)
	printed := make([]timedResult, len(results))
	for i, r := range results {
		printed[i] = timedResult{*r, r.Duration.Seconds()}
		printed[i].Checks = slices.Clone(r.Checks)
		for j := range r.Checks {
			c := &r.Checks[j]
			if _, shown := ways.shows(c); !shown && (ways != WaysOne || c != sample.check) {
				printed[i].Checks[j].Ways, printed[i].Checks[j].PredictedWays = nil, nil
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Version int           `json:"version"`
		Results []timedResult `json:"results"`
	}{reportVersion, printed})
}
