package iptables

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const oldTools = "v1.6.1"

// oldToolsOptions are locks that no other test has.
func oldToolsOptions(t *testing.T) Options {
	if runtime.GOOS != "linux" {
		t.Skip("the locks of iptables are there on Linux only")
	}
	return Options{
		lockFile:   filepath.Join(t.TempDir(), "xtables.lock"),
		lockSocket: fmt.Sprintf("@xtables-%d-%s", os.Getpid(), t.Name()),
	}
}

func TestRestoreOfOldToolsHoldsTheLocks(t *testing.T) {
	opts := oldToolsOptions(t)
	for name, try := range map[string]func() (func(), error){
		"file":   func() (func(), error) { return lockFile(opts.lockFile) },
		"socket": func() (func(), error) { return bindSocket(opts.lockSocket) },
	} {
		t.Run(name, func(t *testing.T) {
			var inside error
			tools := execFunc(func(_ context.Context, argv []string) (string, string, error) {
				if argv[0] == "iptables-restore" {
					_, inside = try()
				}
				return "iptables " + oldTools + "\n", "", nil
			})
			runner, err := New(tools, ProtocolIPv4, opts)
			require.NoError(t, err)
			require.NoError(t, runner.RestoreAll(nil, NoFlushTables, RestoreCounters))
			assert.ErrorIs(t, inside, errLocked, "while the tool runs")
			release, err := try()
			require.NoError(t, err, "afterwards")
			release()
		})
	}
}

func TestRestoreOfOldToolsWaitsForTheLocks(t *testing.T) {
	for _, name := range []string{"file", "socket"} {
		t.Run(name, func(t *testing.T) {
			opts := oldToolsOptions(t)
			clk := newWaitClock()
			opts.Clock = clk
			runner := newScripted(t, oldTools, opts, step{run: "iptables-restore --noflush --counters"})
			release := takeOther(t, name, opts)

			done := make(chan error)
			go func() { done <- runner.RestoreAll(nil, NoFlushTables, RestoreCounters) }()
			assert.Equal(t, lockRetry, <-clk.waiting)
			release()
			clk.Step(lockRetry)
			require.NoError(t, <-done)
		})
	}
}

func TestRestoreOfOldToolsGivesUp(t *testing.T) {
	for _, name := range []string{"file", "socket"} {
		t.Run(name, func(t *testing.T) {
			opts := oldToolsOptions(t)
			clk := newWaitClock()
			opts.Clock = clk
			runner := newScripted(t, oldTools, opts)
			defer takeOther(t, name, opts)()

			done := make(chan error)
			go func() { done <- runner.RestoreAll(nil, NoFlushTables, RestoreCounters) }()
			<-clk.waiting
			clk.Step(waitLimit)
			err := <-done
			assert.ErrorIs(t, err, errResourceProblem)
			assert.ErrorContains(t, err, "another program holds it after 5s: try again later")

			unlock, err := lockFile(opts.lockFile)
			if name == "socket" {
				require.NoError(t, err, "the lock file is not kept when the socket fails")
				unlock()
			}
		})
	}
}

func TestRestoreOfOldToolsNeedsTheLockFile(t *testing.T) {
	opts := oldToolsOptions(t)
	opts.lockFile = filepath.Join(t.TempDir(), "missing", "xtables.lock")
	runner := newScripted(t, oldTools, opts)
	err := runner.RestoreAll(nil, NoFlushTables, RestoreCounters)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "iptables-restore 1.6.1 (legacy) takes no lock by itself")
}

// takeOther holds one of the locks, as another program would.
func takeOther(t *testing.T, name string, opts Options) (release func()) {
	t.Helper()
	take, lock := lockFile, opts.lockFile
	if name == "socket" {
		take, lock = bindSocket, opts.lockSocket
	}
	release, err := take(lock)
	require.NoError(t, err)
	return release
}
