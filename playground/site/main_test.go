package main

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPackedIsSmallerAndUnpacksToTheSame(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("make playground needs zstd, and it is not here")
	}
	text := bytes.Repeat([]byte("a program that says the same again and again\n"), 100_000)
	packed, err := pack(t.Context(), text, "-19")
	require.NoError(t, err)
	assert.Less(t, len(packed), len(text)/100)
	r, err := zstd.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	defer r.Close()
	var unpacked bytes.Buffer
	_, err = r.WriteTo(&unpacked)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(text, unpacked.Bytes()))
}

func TestTheFirstTabHasALimit(t *testing.T) {
	require.NoError(t, withinLimit("rules", 3_000_000))
	require.NoError(t, withinLimit("cluster", 9_000_000), "it is loaded when its tab is opened")
	assert.ErrorContains(t, withinLimit("rules", 3_000_001), "has 3000001 bytes packed, and its limit is 3000000")
}
