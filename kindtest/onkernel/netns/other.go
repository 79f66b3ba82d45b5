//go:build !linux

package netns

import (
	"context"
	"errors"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Backend runs scenarios in network namespaces, which only Linux has.
type Backend struct {
	// Samples and Proxier are as on Linux.
	Samples int
	Proxier node.Proxier
}

// Usable says that this system has no network namespaces.
func Usable() error { return errUnsupported }

var errUnsupported = errors.New("not supported: network namespaces on a system other than Linux")

// Name is "netns".
func (Backend) Name() string { return scenarios.BackendNetns }

// Start says that it cannot.
func (Backend) Start(context.Context, *scenarios.Cluster) (scenarios.Session, error) {
	return nil, errUnsupported
}
