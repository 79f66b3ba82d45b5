package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/race"
)

func TestSomeAreAllWithoutTheDetector(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6}
	some, every := all, 1
	if race.Enabled {
		some, every = []int{0, 3, 6}, 3
	}
	assert.Equal(t, some, race.Some(all, 3))
	assert.Equal(t, every, race.Every(3))
	assert.Equal(t, all, race.Some(all, 1))
	assert.Empty(t, race.Some([]int{}, 3))
}
