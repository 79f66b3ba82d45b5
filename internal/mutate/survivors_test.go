package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/internal/race"
)

func TestEachArguedSurvivorIsAMutantStill(t *testing.T) {
	race.OneGoroutine(t)
	root, err := overlay.Root()
	require.NoError(t, err)
	sources, err := load(root)
	require.NoError(t, err)
	s, err := rewriteAll(root, sources, map[string]bool{})
	require.NoError(t, err)
	list, err := readArgued(filepath.Join(root, "proxier", "testdata", "survivors.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, list.Survivors)
	for _, argued := range slices.Concat(list.Survivors, list.Unjudged) {
		assert.NotEmpty(t, argued.Because, argued.Mutant)
		assert.True(t, slices.ContainsFunc(s.mutants, func(m mutant) bool { return argued.names(m.name) }), "no such mutant: %s", argued.Mutant)
	}
}
