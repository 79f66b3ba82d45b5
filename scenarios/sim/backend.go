package sim

import (
	"context"

	"github.com/chainwalk/chainwalk/scenarios"
)

// Backend runs scenarios in memory. Its zero value is ready for use.
type Backend struct{ Options Options }

var _ scenarios.Backend = Backend{}

// Name is "sim".
func (Backend) Name() string { return scenarios.BackendSim }

// Start builds the network, fills the API and starts the proxiers.
func (b Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	options := b.Options
	options.Breaks = true
	return NewWorld(ctx, cluster, options)
}
