package lazyregexp

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNew(t *testing.T) {
	word, none := New(`[a-z]+`), New(`(`)
	assert.Equal(t, "b", word().FindString("1b2"))
	assert.Same(t, word(), word(), "it is compiled once")
	assert.Panics(t, func() { none() }, "and not before it is used")
}
