package probe

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// String says what came of a connection, but for what differs from each to the next: tokens, the client's port, times.
func (r Result) String() string {
	var b strings.Builder
	b.WriteString(string(r.End))
	add := func(before, text string) {
		if text != "" {
			b.WriteString(before + text)
		}
	}
	add(" by ", r.Server)
	if r.At.IsValid() {
		add(" at ", strings.TrimSuffix(r.At.String(), ":0"))
	}
	if r.Client.IsValid() {
		add(", which saw ", r.Client.Addr().String())
	}
	add(" with ", r.With)
	if r.Offender.IsValid() {
		add(" from ", r.Offender.String())
	}
	add(": ", r.Why)
	return b.String()
}

// WriteText prints results for people: each kind once, with how often it came, the most frequent first.
func WriteText(w io.Writer, results []Result) error {
	times := map[string]int{}
	var kinds []string
	for _, r := range results {
		text := r.String()
		if times[text]++; times[text] == 1 {
			kinds = append(kinds, text)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if times[a] != times[b] {
			return times[b] - times[a]
		}
		return strings.Compare(a, b)
	})
	for _, text := range kinds {
		line := text
		if len(results) > 1 {
			line = fmt.Sprintf("%d of %d %s", times[text], len(results), text)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
