package node

import (
	"context"
	"errors"
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
)

// errNotYet is the error of what the format has words for and the backends cannot do yet.
var errNotYet = errors.New("the backend cannot do this yet")

// Hold is not there yet.
func (s *Nodes) Hold(context.Context, []string) error { return errNotYet }

// Deliver is not there yet.
func (s *Nodes) Deliver(context.Context, scenarios.Delivery) error { return errNotYet }

// StartPods is not there yet.
func (s *Nodes) StartPods(context.Context, []scenarios.Pod) error { return errNotYet }

// StopPods is not there yet.
func (s *Nodes) StopPods(context.Context, []string) error { return errNotYet }

// SetAddresses is not there yet.
func (s *Nodes) SetAddresses(context.Context, string, []netip.Addr) error { return errNotYet }

// Conntrack is not there yet.
func (s *Nodes) Conntrack(context.Context, string) ([]scenarios.Tracked, error) {
	return nil, errNotYet
}

// Writes is not there yet.
func (s *Nodes) Writes(context.Context, string) (scenarios.Written, error) {
	return scenarios.Written{}, errNotYet
}

// Healthz is not there yet.
func (s *Nodes) Healthz(context.Context, string) (bool, error) { return false, errNotYet }

// During is not there yet.
func (s *Nodes) During(context.Context, func(context.Context, scenarios.Point)) error {
	return errNotYet
}
