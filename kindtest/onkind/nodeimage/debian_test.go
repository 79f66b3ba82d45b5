//go:build linux

package nodeimage

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestAnInstallationThatIsEndedLeavesNothing: no half of a Debian in the cache, whatever it is ended by.
func TestAnInstallationThatIsEndedLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("Debian is installed by root only")
	}
	programs, cache := t.TempDir(), t.TempDir()
	begun := filepath.Join(programs, "begun")
	require.NoError(t, unix.Mkfifo(begun, 0o600))
	for name, script := range map[string]string{
		"docker":      "exit 1",                                          // it has no such image
		"debootstrap": `: > "$4/half"; echo > ` + begun + `; sleep 1000`, // as if packages were on their way
	} {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))

	ctx, end := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := importDebian(ctx, Options{Cache: cache, Mirror: Mirror, Out: io.Discard})
		failed <- err
	}()
	pipe, err := os.Open(begun) // until the script writes
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, left, 1, "the folder in which it installs")
	end()
	assert.ErrorIs(t, <-failed, context.Canceled)
	left, err = os.ReadDir(cache)
	require.NoError(t, err)
	assert.Empty(t, left)
}
