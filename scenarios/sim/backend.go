package sim

import (
	"context"
	"fmt"

	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/node"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// Backend runs scenarios in memory. Its zero value is ready for use.
type Backend struct{}

var _ scenarios.Backend = Backend{}

// Name is "sim".
func (Backend) Name() string { return scenarios.BackendSim }

// session is one cluster.
type session struct {
	*node.Nodes
	network *network.Network
	plan    *plan.Plan
	flows   map[string]*network.Flow
}

// Start builds the network, fills the API and starts the proxiers.
func (Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	s := &session{network: network.New(), plan: plan.Of(cluster), flows: map[string]*network.Flow{}}
	clock := node.NewClock()
	kernels, err := s.build(cluster.Tool, clock)
	if err != nil {
		return nil, fmt.Errorf("build the network: %w", err)
	}
	s.Nodes, err = node.Start(ctx, cluster, clock, kernels)
	if err != nil {
		return nil, err
	}
	return s, nil
}
