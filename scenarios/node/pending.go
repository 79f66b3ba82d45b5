package node

import (
	"context"
	"errors"
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
)

// errNotYet is the error of what the format has words for and a backend cannot do yet.
var errNotYet = errors.New("the backend cannot do this yet")

// StartPods is a backend's own matter.
func (s *Nodes) StartPods(context.Context, []scenarios.Pod) error { return errNotYet }

// StopPods is a backend's own matter.
func (s *Nodes) StopPods(context.Context, []string) error { return errNotYet }

// SetAddresses is a backend's own matter.
func (s *Nodes) SetAddresses(context.Context, string, []netip.Addr) error { return errNotYet }

// Conntrack is a backend's own matter.
func (s *Nodes) Conntrack(context.Context, string) ([]scenarios.Tracked, error) {
	return nil, errNotYet
}
