package netns

import (
	"context"
	"errors"
	"net/netip"

	"github.com/chainwalk/chainwalk/scenarios"
)

// errNotYet is the error of what the format has words for and this backend cannot do yet.
var errNotYet = errors.New("the backend cannot do this yet")

// StartPods is not there yet.
func (s *session) StartPods(context.Context, []scenarios.Pod) error { return errNotYet }

// StopPods is not there yet.
func (s *session) StopPods(context.Context, []string) error { return errNotYet }

// SetAddresses is not there yet.
func (s *session) SetAddresses(context.Context, string, []netip.Addr) error { return errNotYet }

// Conntrack is not there yet.
func (s *session) Conntrack(context.Context, string) ([]scenarios.Tracked, error) {
	return nil, errNotYet
}
