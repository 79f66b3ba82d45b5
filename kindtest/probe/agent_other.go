//go:build !linux

package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"k8s.io/utils/clock"
)

var errSystem = errors.New("not supported: probes on a system other than Linux")

// Agent is at the ends of connections, on Linux.
type Agent struct{}

// NewAgent says that there are no agents here.
func NewAgent(string, clock.WithTicker) (*Agent, error) { return nil, errSystem }

func forget([]netip.Addr) error { return errSystem }

// Run says so too.
func (*Agent) Run(context.Context, net.Listener) error { return errSystem }

// Serve says so too.
func (*Agent) Serve([]Listener) error { return errSystem }

// Dial says so too.
func (*Agent) Dial(context.Context, Dial) ([]Result, error) { return nil, errSystem }
