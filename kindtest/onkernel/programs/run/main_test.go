//go:build linux

package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/internal/command"
)

// TestWhatIsNotKnownIsRefused before anything is installed.
func TestWhatIsNotKnownIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		args []string
		says string
	}{
		"a program": {[]string{"ufw", "pf"}, `there is no life of "pf"`},
		"a dialect": {[]string{"-dialect", "bpf", "ufw"}, "bpf"},
		"a flag":    {[]string{"-fast"}, "-fast"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			var said bytes.Buffer
			status := newCommand().Run(t.Context(), append([]string{"-cache", cache, "-keep", cache}, row.args...), &said, &said)
			assert.Equal(t, command.Broken, status)
			assert.Contains(t, said.String(), row.says)
		})
	}
}
