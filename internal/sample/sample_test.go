package sample

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestSomeAreEveryNth(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	some, every := []int{0, 3, 6}, 3
	if takesAll() {
		some, every = all, 1
	}
	assert.Equal(t, some, Some(all, 3))
	assert.Equal(t, every, Every(3))
	assert.Equal(t, []int{0, 3, 6}, Nth(all, 3))
	assert.Equal(t, all, Nth(all, 1))
	assert.Empty(t, Nth([]int{}, 3))
}

// TestFewerExamplesAreDrawn counts what rapid draws in a test that asks for fewer, and behind it.
func TestFewerExamplesAreDrawn(t *testing.T) {
	count := func(t *testing.T) (n int) {
		rapid.Check(t, func(*rapid.T) { n++ })
		return n
	}
	all, few := count(t), 7
	if takesAll() || checksAreSaid() {
		few = all
	}
	t.Run("few", func(t *testing.T) {
		Checks(t, 7)
		assert.Equal(t, few, count(t))
	})
	assert.Equal(t, all, count(t), "the next test draws as many as before")
}
