package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/command"
)

// TestMissingBuildsNothing, and says what would.
func TestMissingBuildsNothing(t *testing.T) {
	cache := t.TempDir()
	var out bytes.Buffer
	assert.Equal(t, command.Failed, newCommand().Run(t.Context(), []string{"-missing", "-source", "../../../..", "-cache", cache}, &out, &out))
	assert.Contains(t, out.String(), "make kind-binaries")
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	assert.Empty(t, left)

	name := regexp.MustCompile(`kubernetes-[0-9a-f]{16}`).FindString(out.String())
	require.NotEmpty(t, name, "the folder that is missing: %s", out.String())
	require.NoError(t, os.Mkdir(filepath.Join(cache, name), 0o755))
	out.Reset()
	assert.Equal(t, command.Held, newCommand().Run(t.Context(), []string{"-missing", "-source", "../../../..", "-cache", cache}, &out, &out))
	assert.Empty(t, out.String())

	assert.Equal(t, command.Broken, newCommand().Run(t.Context(), []string{"-missing", "-source", cache, "-cache", cache}, &out, &out),
		"no source tree")
	assert.Equal(t, command.Broken, newCommand().Run(t.Context(), []string{"-missing", "-binaries"}, &out, &out))
}
