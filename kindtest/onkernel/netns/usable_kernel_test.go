package netns

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

func TestUsable(t *testing.T) {
	kerneltest.Need(t, "nft")
	require.NoError(t, Usable())
	t.Setenv("PATH", "/does/not/exist")
	assert.ErrorContains(t, Usable(), "nft, by which packets are watched, is not installed")
}
