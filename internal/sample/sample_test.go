package sample

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSomeAreEveryNth(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	some, every := []int{0, 3, 6}, 3
	if takesAll {
		some, every = all, 1
	}
	assert.Equal(t, some, Some(all, 3))
	assert.Equal(t, every, Every(3))
	assert.Equal(t, []int{0, 3, 6}, Nth(all, 3))
	assert.Equal(t, all, Nth(all, 1))
	assert.Empty(t, Nth([]int{}, 3))
}
