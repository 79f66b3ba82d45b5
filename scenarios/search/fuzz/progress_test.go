package fuzz

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

// TestARunTellsHowFarItHasCome tells it once a second on a line of a terminal that changes, and once a minute on a line of a file.
func TestARunTellsHowFarItHasCome(t *testing.T) {
	at := func(cases, failures, shrunk int) Progress {
		figures := trial.Figures{Cases: cases, States: 7 * cases, Clauses: map[string]int{"a": 1}}
		return Progress{Figures: figures, Failures: failures, Shrunk: shrunk}
	}
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"a terminal": {true, "\r1s: 1 cases, 7 states, 0 connections, 1 clauses, 0 failures\x1b[K" +
			"\r59s: 3 cases, 21 states, 0 connections, 1 clauses, 2 failures\x1b[K" +
			"\r1m0s: 4 cases, 28 states, 0 connections, 1 clauses, 2 failures, 1 of them shrunk\x1b[K" +
			"\r60.0s: 2 states and 1 connections a second\x1b[K\n"},
		"a file": {false, "1m0s: 4 cases, 28 states, 0 connections, 1 clauses, 2 failures, 1 of them shrunk\n" +
			"60.0s: 2 states and 1 connections a second\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			now := time.Unix(0, 0)
			telling := &Telling{to: &out, terminal: c.terminal, now: func() time.Time { return now }, begin: now, last: now}
			for _, step := range []struct {
				after time.Duration
				p     Progress
			}{
				{time.Second, at(1, 0, 0)}, {time.Second / 2, at(2, 1, 0)}, {57*time.Second + time.Second/2, at(3, 2, 0)}, {time.Second, at(4, 2, 1)},
			} {
				now = now.Add(step.after)
				telling.Progress(step.p)
			}
			telling.Rate(&trial.Figures{States: 120, Connections: 60})
			assert.Equal(t, c.want, out.String())
		})
	}
	assert.False(t, Tell(new(strings.Builder)).terminal)
}

// TestProgressIsToldAfterEachCaseAndEachFailure.
func TestProgressIsToldAfterEachCaseAndEachFailure(t *testing.T) {
	var told []Progress
	r := found(t, Options{Seed: 3, Runs: 100, Shrinks: -1, Progress: func(p Progress) { told = append(told, p) }})
	assert.Len(t, told, r.Cases+len(r.Failures))
	last := told[len(told)-1]
	assert.Equal(t, len(r.Failures), last.Failures)
	assert.Equal(t, len(r.Failures), last.Shrunk)
	assert.Equal(t, r.Cases, last.Cases)
}
