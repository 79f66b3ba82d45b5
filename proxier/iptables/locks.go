package iptables

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// lockRetry is the time between two tries to take a lock.
const lockRetry = 200 * time.Millisecond

// errLocked says that another program holds a lock.
var errLocked = errors.New("another program holds it")

// locks are what keeps two runs of the legacy tools from changing rules at the same time: a file that releases from 1.6 on
// lock, and an abstract socket that releases from 1.4.20 on bind. Some distributions mix them, so both are taken.
type locks struct {
	file, socket string
}

// take holds both locks until release is called. It waits as long as the tools would. An error that is errResourceProblem
// means that another program holds a lock.
func (l locks) take(clk clock.Clock) (release func(), err error) {
	unlockFile, err := takeWithin(waitLimit, clk, l.file, lockFile)
	if err != nil {
		return nil, err
	}
	unlockSocket, err := takeWithin(waitLimit, clk, l.socket, bindSocket)
	if err != nil {
		unlockFile()
		return nil, err
	}
	return func() {
		unlockSocket()
		unlockFile()
	}, nil
}

// takeWithin tries until the lock is taken, or the limit is over.
func takeWithin(limit time.Duration, clk clock.Clock, name string, try func(name string) (func(), error)) (func(), error) {
	for start := clk.Now(); ; {
		release, err := try(name)
		switch {
		case err == nil:
			return release, nil
		case !errors.Is(err, errLocked):
			return nil, fmt.Errorf("lock %s: %w", name, err)
		case clk.Since(start) >= limit:
			return nil, fmt.Errorf("lock %s: %w after %s: try again later: %w", name, err, limit, errResourceProblem)
		}
		<-clk.After(lockRetry)
	}
}
