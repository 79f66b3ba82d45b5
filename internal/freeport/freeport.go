// Package freeport finds TCP ports for servers in tests that must know their port before they listen. It is for tests only.
//
// If a test asks the kernel for a port and closes it again, the kernel may give the port to another program: on a machine that runs many
// tests, to the client of another test. Then the server finds it in use. These ports are below those that kernels choose from, and a second
// listener, at the port beside, keeps other tests of this package's users away, in this process and in others.
package freeport

import (
	"fmt"
	"net"
	"os"
	"testing"
)

// Pairs of ports: the guard and the one that is free. Linux chooses from 32768 on, and others from higher.
const (
	lowest = 12000
	pairs  = 10000
)

// New returns a TCP port at which nobody listens, on any address. Nobody else gets it before the test ends.
func New(tb testing.TB) int {
	tb.Helper()
	for i := range pairs {
		guardPort := lowest + 2*((os.Getpid()+i)%pairs)
		guard, err := listen(guardPort)
		if err != nil {
			continue
		}
		probe, err := listen(guardPort + 1)
		if err != nil || probe.Close() != nil {
			_ = guard.Close() // somebody who does not ask here has the port
			continue
		}
		tb.Cleanup(func() { _ = guard.Close() }) // nobody waits for it
		return guardPort + 1
	}
	tb.Fatalf("no port from %d to %d is free", lowest, lowest+2*pairs)
	return 0
}

func listen(port int) (net.Listener, error) { return net.Listen("tcp", fmt.Sprintf(":%d", port)) }
