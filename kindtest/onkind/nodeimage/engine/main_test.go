package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEngineOfItsFile(t *testing.T) {
	proc, file := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	for pid, name := range map[string]string{"41": "dockerd\n", "42": "sh\n"} {
		require.NoError(t, os.Mkdir(filepath.Join(proc, pid), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(name), 0o644))
	}
	_, err := engineOf(file, proc)
	assert.ErrorContains(t, err, "no Docker engine was started here")
	for _, row := range []struct {
		content, err string
		pid          int
	}{
		{content: "41\n", pid: 41},
		{content: "41", pid: 41},
		{content: "42\n", err: "process 42, which is no Docker engine"},
		{content: "43\n", err: "process 43, which is no Docker engine"},
		{content: "", err: "invalid syntax"},
	} {
		require.NoError(t, os.WriteFile(file, []byte(row.content), 0o644))
		pid, err := engineOf(file, proc)
		if row.err != "" {
			assert.ErrorContains(t, err, row.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, row.pid, pid)
	}
}
