package fakenft_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakenft"
)

func list(t *testing.T, tools *fakenft.Tools, args ...string) string {
	t.Helper()
	out, err := tools.Exec().Command("nft", append(args, "list", "ruleset")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func load(t *testing.T, name, text string) *fakenft.Tools {
	t.Helper()
	tools := fakenft.New(fakenft.Options{})
	require.NoError(t, tools.Load(name, strings.NewReader(text), nil))
	return tools
}

// TestListingsAreLoaded takes both listings of what kube-proxy wrote: nft itself does not take the one in JSON again.
func TestListingsAreLoaded(t *testing.T) {
	files, err := filepath.Glob("../../shared/dumps/nftables-v1.36/*/ruleset.nft")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		json, err := os.ReadFile(strings.TrimSuffix(file, ".nft") + ".json")
		require.NoError(t, err)
		fromText, fromJSON := load(t, file, string(text)), load(t, file, string(json))
		assert.Equal(t, string(text), list(t, fromText), file)
		assert.Equal(t, string(text), list(t, fromJSON), file)
	}
}
