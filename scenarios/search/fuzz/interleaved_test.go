package fuzz

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInterleavedCasesAskSomething: a case that is to be played in all orders of its events has such orders, or is played as it is.
func TestInterleavedCasesAskSomething(t *testing.T) {
	asked, orders := 0, 0
	for number := range 2000 {
		if kindOf(number).interleaved {
			questions := (&Options{Seed: 1}).questions(number)
			require.NotEmpty(t, questions, number)
			asked, orders = asked+1, orders+len(questions)
		}
	}
	assert.Greater(t, asked, 100)
	assert.Greater(t, orders, 3*asked)
}

// TestProgressCountsCases: a case that is played in several orders of its events is one case.
func TestProgressCountsCases(t *testing.T) {
	o := Options{Seed: 3, Runs: 1, Shrinks: -1}
	for !kindOf(o.First).interleaved {
		o.First++
	}
	require.Greater(t, len(o.questions(o.First)), 1)
	var last Progress
	o.Progress = func(p Progress) { last = p }
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 1, last.Cases)
	assert.Greater(t, r.Figures.Cases, 1)
}
