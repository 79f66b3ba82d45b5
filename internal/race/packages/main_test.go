package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGoroutinesAreFound(t *testing.T) {
	for body, want := range map[string]bool{
		"go f()": true, "go func() {}()": true, "var wg sync.WaitGroup; wg.Go(f)": true, "group.Go(func() error { return nil })": true,
		"t.Parallel()": true, "b.RunParallel(nil)": true, "f(); x.Run()": false, "Go()": false, "var Go = 1": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc y() {"+body+"}", parser.SkipObjectResolution)
		require.NoError(t, err)
		assert.Equal(t, want, startsIn(file), body)
	}
}

// TestEachPackageIsListedOnce: a package is in one of the two lists.
func TestEachPackageIsListedOnce(t *testing.T) {
	var with, without bytes.Buffer
	patterns := []string{"github.com/chainwalk/chainwalk/internal/..."}
	require.NoError(t, list(t.Context(), patterns, false, &with))
	require.NoError(t, list(t.Context(), patterns, true, &without))
	assert.Contains(t, with.String(), "chainwalk/internal/flaky\n")
	assert.Contains(t, without.String(), "chainwalk/internal/nlattr\n")
	for _, p := range strings.Fields(with.String()) {
		assert.NotContains(t, strings.Fields(without.String()), p)
	}
}
