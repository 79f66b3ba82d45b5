package race

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSomeAreAllWithoutTheDetector(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	some, every := all, 1
	if Enabled {
		some, every = []int{0, 3, 6}, 3
	}
	assert.Equal(t, some, Some(all, 3))
	assert.Equal(t, every, Every(3))
	assert.Equal(t, all, Some(all, 1))
	assert.Empty(t, Some([]int{}, 3))
}
