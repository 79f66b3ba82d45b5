//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package toolstate

import (
	"errors"
	"os"
)

var errNoFlock = errors.New("not supported: the tools as programs need flock, which this system does not have")

func lockFile(*os.File) error { return errNoFlock }

func tryLockFile(*os.File) error { return errNoFlock }

func syncDir(string) error { return errNoFlock }
