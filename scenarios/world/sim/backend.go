package sim

import (
	"context"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// Backend runs scenarios in memory. Its zero value is ready for use.
type Backend struct{ Options Options }

var _ scenarios.ControlledBackend = Backend{}

// Name is "sim".
func (Backend) Name() string { return scenarios.BackendSim }

// SliceController is Kubernetes' own, as package controller has it.
func (Backend) SliceController(ever []manifest.Object) manifest.SliceController {
	return controller.New(ever)
}

// Start builds the network, fills the API and starts the proxiers.
func (b Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	options := b.Options
	options.breaks = true
	return NewWorld(ctx, cluster, options)
}
