package statefolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked says that somebody else has a lock.
var ErrLocked = errors.New("Resource temporarily unavailable") //nolint:staticcheck // the C library's text, as the tool prints it

// Lock keeps other tools away from the folder until the file is closed. The file is nil where the folder is only to be read and nobody has
// made the lock.
func (f Folder) Lock() (*os.File, error) {
	lock, err := OpenLock(filepath.Join(f.Path, "lock"))
	if err == nil && lock != nil {
		if err = LockFile(lock); err != nil {
			err = errors.Join(err, lock.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("locking the state: %w", err)
	}
	return lock, nil
}

// OpenLock opens a file to lock. In a folder that is only to be read it is nil if there is no such file: parts are replaced as a whole, so
// who reads one needs no lock, and who writes is told so by the write.
func OpenLock(path string) (*os.File, error) {
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
