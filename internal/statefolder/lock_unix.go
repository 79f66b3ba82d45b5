//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package statefolder

import (
	"errors"
	"os"
	"syscall"
)

// LockFile waits for the lock on an open file; it goes with the file's closing, or with the process.
func LockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// TryLockFile is LockFile without waiting; ErrLocked if it would wait.
func TryLockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// syncDir makes a rename in the folder last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
