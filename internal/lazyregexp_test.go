package internal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

func TestLazyRegexp(t *testing.T) {
	word, none := lazyregexp.New(`[a-z]+`), lazyregexp.New(`(`)
	assert.Equal(t, "b", word().FindString("1b2"))
	assert.Same(t, word(), word(), "it is compiled once")
	assert.Panics(t, func() { none() }, "and not before it is used")
}
