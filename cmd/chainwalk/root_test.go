package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCommandsByName: a command line that begins with a name makes that command alone, and every other one makes them all.
func TestCommandsByName(t *testing.T) {
	all := len(newRootCommand(streams{}).Commands())
	assert.GreaterOrEqual(t, all, len(commands))
	for _, c := range commands {
		alone := newRootFor(ownName, []string{c.name, "--help"}, streams{}).Commands()
		if assert.Len(t, alone, 1, c.name) {
			assert.Equal(t, c.name, alone[0].Name())
			assert.Empty(t, alone[0].Aliases, "newRootFor looks for names alone")
		}
	}
	for _, args := range [][]string{nil, {"help", "trace"}, {"__complete", "trace", ""}, {"completion", "bash"}, {"tracee"}, {"--version"}} {
		assert.Len(t, newRootFor(ownName, args, streams{}).Commands(), all, args)
	}
	assert.Len(t, newRootFor(pluginName, []string{"trace"}, streams{}).Commands(), all, "its help texts name the others")
}
