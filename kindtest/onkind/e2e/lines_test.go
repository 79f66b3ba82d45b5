package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinesOfAClusterAreMarked, each of them.
func TestLinesOfAClusterAreMarked(t *testing.T) {
	var out bytes.Buffer
	m := &marked{out: &lines{out: &out}, mark: "beside: "}
	for _, text := range []string{"one\n", "two\nthree\n"} {
		n, err := fmt.Fprint(m, text)
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	assert.Equal(t, "beside: one\nbeside: two\nbeside: three\n", out.String())
}
