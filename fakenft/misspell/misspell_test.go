package misspell

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What nft 1.0.6 has said on a real kernel.
func TestTry(t *testing.T) {
	for _, row := range []struct {
		want, have string
		near       bool
	}{
		{"inptu", "input", true},
		{"filtre", "filter", true},
		{"x", "input", true},
		{"blocekd", "blocked", true},
		{"C", "c", false},
		{"nope", "t", false},
	} {
		s := Search{Want: row.want}
		assert.Equal(t, row.near, s.Try(row.have), row)
		assert.False(t, s.Try(row.have), "no nearer than before")
	}
}
