package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatCollectsSeldomHasALimit: a command that lets much be left behind collects earlier when it has much, and sets back what it
// has set.
func TestWhatCollectsSeldomHasALimit(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	before := limit()
	restore := collect(collectSeldom)
	assert.EqualValues(t, collectFrom, limit())
	restore()
	assert.Equal(t, before, limit())
	restore = collect(collectOften)
	assert.Equal(t, before, limit(), "what collects often")
	restore()
	t.Setenv("GOMEMLIMIT", "3GiB")
	defer collect(collectSeldom)()
	assert.Equal(t, before, limit(), "the environment says")
}
