package probe

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func all(*int) bool { return true }

func number(n int) int { return n }

// TestRecordForgetsTheOldest and goes on to count.
func TestRecordForgetsTheOldest(t *testing.T) {
	r := newRecord[int](8)
	for range 20 {
		r.add(number)
	}
	kept := r.found(all)
	require.NotEmpty(t, kept)
	assert.LessOrEqual(t, len(kept), 8)
	assert.Equal(t, 20, kept[len(kept)-1])
	for i := range kept {
		assert.Equal(t, 20-len(kept)+1+i, kept[i])
	}
	r.clear()
	assert.Empty(t, r.found(all))
	r.add(number)
	assert.Equal(t, []int{21}, r.found(all))
}

func TestRecordIsWaitedFor(t *testing.T) {
	r := newRecord[int](8)
	even := func(n *int) bool { return *n%2 == 0 }
	got := make(chan []int)
	go func() { got <- r.find(t.Context(), 1, even) }()
	for range 4 {
		r.add(number)
	}
	assert.Equal(t, []int{4}, <-got, "the second even one")
	assert.Equal(t, []int{2, 4}, r.find(t.Context(), -1, even), "less than none is known")
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	assert.Empty(t, r.find(soon, 2, even))
}
