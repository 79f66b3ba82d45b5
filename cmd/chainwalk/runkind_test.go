package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kind/pkg/log"
)

// script writes a program that a shell runs.
func script(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755)) //nolint:gosec // it is started
	return path
}

func TestCompanionIsFound(t *testing.T) {
	folder := t.TempDir()
	self := script(t, filepath.Join(folder, "lib", "chainwalk"), "exit 0")
	link := filepath.Join(folder, "kubectl-chainwalk")
	require.NoError(t, os.Symlink(self, link))
	t.Setenv("PATH", filepath.Join(folder, "bin"))

	_, err := findCompanion(link)
	assert.ErrorContains(t, err, "go install github.com/chainwalk/chainwalk/cmd/chainwalk-kind@latest")

	onPath := script(t, filepath.Join(folder, "bin", companionName), "exit 0")
	found, err := findCompanion(link)
	require.NoError(t, err)
	assert.Equal(t, onPath, found)

	beside := script(t, filepath.Join(folder, "lib", companionName), "exit 0")
	found, err = findCompanion(link)
	require.NoError(t, err)
	assert.Equal(t, beside, found, "the one of the same release comes first")
}

// logged is a logger of kind that keeps the warnings.
type logged struct {
	log.NoopLogger
	warnings []string
}

func (l *logged) Warn(message string) { l.warnings = append(l.warnings, message) }

func TestCompanionMakesNodes(t *testing.T) {
	folder := t.TempDir()
	for about, row := range map[string]struct{ does, says string }{
		"it makes them":                 {does: `read config; test "$config" = "{}" || exit 1; echo careful >&2`},
		"kind cannot":                   {does: "echo careful >&2; echo no such image; exit 1", says: "no such image"},
		"it ends without saying why":    {does: "echo careful >&2; exit 3", says: "exit status 3"},
		"a signal ends it in the midst": {does: "echo careful >&2; kill -9 $$", says: "signal: killed"},
	} {
		t.Run(about, func(t *testing.T) {
			var l logged
			err := provision(t.Context(), script(t, filepath.Join(folder, t.Name()), row.does), []byte("{}\n"), &l)
			assert.Equal(t, []string{"careful\n"}, l.warnings)
			if row.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, row.says)
		})
	}
}
