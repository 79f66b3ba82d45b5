package toolstate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/internal/statefolder"
)

// lockPoll is how often a lock is asked for again by a tool that does not wait for ever.
const lockPoll = 10 * time.Millisecond

// lockState keeps other tools away from the folder.
func (r *run) lockState() error {
	f, err := r.store.folder().Lock()
	if f != nil {
		r.locks = append(r.locks, f)
	}
	return err
}

// lockXtables takes the lock of the legacy tools with their words. Wait 0 is for ever: version 1.8.9 waits so
// without -w too.
func (r *run) lockXtables(wait int) error {
	path := r.store.xtablesLock()
	open := statefolder.OpenLock
	if r.store.lockFile != "" { // as the real tools open it
		open = func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600) }
	}
	f, err := open(path)
	if err != nil {
		return noLockFile(path, err)
	}
	if f == nil {
		return nil
	}
	r.locks = append(r.locks, f)
	if wait == 0 {
		err = statefolder.LockFile(f)
	} else {
		err = r.lockWithin(f, time.Duration(wait)*time.Second)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, statefolder.ErrLocked) {
		return fakeipt.LockHeld(path, wait)
	}
	return &fakeipt.GateError{Status: statusFailed, Text: fmt.Sprintf("Can't lock %s: %s\n", path, libc.FileErrorText(err))}
}

// xtablesLock is the file that the legacy tools lock.
func (s *Store) xtablesLock() string {
	if s.lockFile != "" {
		return s.lockFile
	}
	return filepath.Join(s.dir, "xtables.lock")
}

// noLockFile is what the legacy tools say of a lock that they cannot open.
func noLockFile(path string, err error) error {
	return &fakeipt.GateError{Status: statusFailed, Text: fmt.Sprintf("Fatal: can't open lock file %s: %s\n", path, libc.FileErrorText(err))}
}

// lockWithin asks for the lock until the time is up.
func (r *run) lockWithin(f *os.File, limit time.Duration) error {
	deadline := r.store.clock.Now().Add(limit)
	for {
		err := statefolder.TryLockFile(f)
		left := deadline.Sub(r.store.clock.Now())
		if !errors.Is(err, statefolder.ErrLocked) || left <= 0 {
			return err
		}
		<-r.store.clock.After(min(lockPoll, left))
	}
}
