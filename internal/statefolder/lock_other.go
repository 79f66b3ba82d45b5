//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package statefolder

import (
	"errors"
	"os"
)

var errNoFlock = errors.New("not supported: the tools as programs need flock, which this system does not have")

// LockFile is not possible.
func LockFile(*os.File) error { return errNoFlock }

// TryLockFile is not possible.
func TryLockFile(*os.File) error { return errNoFlock }

func syncDir(string) error { return errNoFlock }
