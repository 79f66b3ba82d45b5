package proxytest

import (
	"context"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// Backend runs scenario files with the program under test in the place of the proxier, for scenarios.Run and scenarios.Test: sync is
// called for a node whenever the scenario has its proxier sync. It finds in the node what it has to serve, and writes all rules, or what
// has changed since its last call. What it returns is the sync's error.
func Backend(sync func(*Node) error) scenarios.Backend { return backend{sync} }

type backend struct {
	sync func(*Node) error
}

// Name is "sim": scenarios that are for the simulator run.
func (backend) Name() string { return scenarios.BackendSim }

// SliceController is Kubernetes' own, as package controller has it.
func (backend) SliceController(ever []manifest.Object) manifest.SliceController {
	return controller.New(ever)
}

// Start makes the scenario's cluster.
func (b backend) Start(ctx context.Context, of *scenarios.Cluster) (scenarios.Session, error) {
	c := &Cluster{scenario: of}
	if err := c.start(ctx, b.sync); err != nil {
		return nil, err
	}
	return c.world, nil
}
