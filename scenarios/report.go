package scenarios

import (
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
	WaysOne    Ways = "one"    // and the first of the last scenario that sends any
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

// sample is the first check of a scenario that sends a packet, nil if none does.
func (r *Result) sample() *Check {
	for i := range r.Checks {
		if len(r.Checks[i].Ways) > 0 {
			return &r.Checks[i]
		}
	}
	return nil
}

// sampleOf is the sample of the last scenario that sends a packet.
func sampleOf(results []*Result) *Check {
	for _, r := range slices.Backward(results) {
		if c := r.sample(); c != nil {
			return c
		}
	}
	return nil
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
			if _, shown := ways.shows(c); !shown && (ways != WaysOne || c != sample) {
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
