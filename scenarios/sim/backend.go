package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/api"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// Backend runs scenarios in memory. Its zero value is ready for use.
type Backend struct{}

var _ scenarios.Backend = Backend{}

// Name is "sim".
func (Backend) Name() string { return scenarios.BackendSim }

// session is one cluster.
type session struct {
	cluster *scenarios.Cluster
	network *network.Network
	clock   *clocktesting.FakeClock
	plan    *plan.Plan
	api     *api.API
	stop    context.CancelFunc
	nodes   map[string]*node
	flows   map[string]*keptFlow
}

// epoch is when every simulated cluster starts.
func epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Start builds the network, fills the API and starts the proxiers.
func (Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &session{
		cluster: cluster,
		clock:   clocktesting.NewFakeClock(epoch()),
		stop:    stop,
		nodes:   map[string]*node{},
		flows:   map[string]*keptFlow{},
	}
	if err := s.start(ctx); err != nil {
		stop()
		return nil, err
	}
	return s, nil
}

func (s *session) start(ctx context.Context) error {
	if err := s.build(); err != nil {
		return fmt.Errorf("build the network: %w", err)
	}
	var err error
	if s.api, err = api.New(ctx, s.cluster.Objects, config.Options{}); err != nil {
		return err
	}
	for i := range s.cluster.Nodes {
		if err := s.nodes[s.cluster.Nodes[i].Name].startProxy(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the informers.
func (s *session) Close() error {
	s.stop()
	return nil
}

// Advance moves the clock of all hosts and proxiers.
func (s *session) Advance(_ context.Context, d time.Duration) error {
	s.clock.Step(d)
	return nil
}

// Sync syncs the proxiers one after the other. Each looks first whether its rules
// were flushed, which a real one does every now and then.
func (s *session) Sync(_ context.Context, nodes []string) error {
	var errs []error
	for _, name := range nodes {
		proxy := s.nodes[name].proxy
		if err := errors.Join(proxy.EnsureCanaries(), proxy.Sync()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// Restart replaces proxiers by new ones on the same kernels.
func (s *session) Restart(ctx context.Context, nodes []string) error {
	for _, name := range nodes {
		n := s.nodes[name]
		n.registration.Remove()
		if err := n.startProxy(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Apply writes objects and waits until every proxier has them.
func (s *session) Apply(ctx context.Context, objects []manifest.Object) error {
	return s.api.Apply(ctx, objects)
}

// Delete deletes objects and waits until every proxier knows.
func (s *session) Delete(ctx context.Context, refs []manifest.Ref) error {
	return s.api.Delete(ctx, refs)
}
