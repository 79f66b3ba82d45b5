package toolstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// lockPoll is how often a lock is asked for again by a tool that does not wait for ever.
const lockPoll = 10 * time.Millisecond

// lockState keeps other tools away from the folder.
func (r *run) lockState() error {
	f, err := openLock(filepath.Join(r.store.dir, "lock"))
	if err != nil {
		return fmt.Errorf("locking the state: %w", err)
	}
	if f == nil {
		return nil
	}
	r.locks = append(r.locks, f)
	if err := lockFile(f); err != nil {
		return fmt.Errorf("locking the state: %w", err)
	}
	return nil
}

// openLock opens a file to lock. In a folder that is only to be read it is nil if there is no such file: parts are replaced as a whole, so
// who reads one needs no lock, and who writes is told so by the write.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return f, err
	}
	if _, dirErr := os.ReadDir(filepath.Dir(path)); dirErr != nil {
		return nil, err // not even to be read
	}
	f, readErr := os.Open(path)
	switch {
	case readErr == nil:
		return f, nil
	case errors.Is(readErr, fs.ErrNotExist):
		return nil, nil
	}
	return nil, err
}

// lockXtables takes the lock of the legacy tools with their words. Wait 0 is for ever: version 1.8.9 waits so
// without -w too.
func (r *run) lockXtables(wait int) error {
	path := r.store.xtablesLock()
	open := openLock
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
		err = lockFile(f)
	} else {
		err = r.lockWithin(f, time.Duration(wait)*time.Second)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, errLocked) {
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

// errLocked says that somebody else has the lock.
var errLocked = errors.New("Resource temporarily unavailable") //nolint:staticcheck // the C library's text, as the tool prints it

// lockWithin asks for the lock until the time is up.
func (r *run) lockWithin(f *os.File, limit time.Duration) error {
	deadline := r.store.clock.Now().Add(limit)
	for {
		err := tryLockFile(f)
		left := deadline.Sub(r.store.clock.Now())
		if !errors.Is(err, errLocked) || left <= 0 {
			return err
		}
		<-r.store.clock.After(min(lockPoll, left))
	}
}
