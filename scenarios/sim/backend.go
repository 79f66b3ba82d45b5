package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// Backend runs scenarios in memory. Its zero value is ready for use.
type Backend struct{}

var _ scenarios.Backend = Backend{}

// Name is "sim".
func (Backend) Name() string { return scenarios.BackendSim }

// session is one cluster.
type session struct {
	cluster   *scenarios.Cluster
	network   *packetsim.Network
	clock     *clocktesting.FakeClock
	client    *fake.Clientset
	informers *config.Informers
	stop      context.CancelFunc
	nodes     map[string]*node
	devices   map[packetsim.Port]string       // the pod behind a node's device
	listeners map[string][]packetsim.Listener // by host
	router    *packetsim.Host
	flows     map[string]*keptFlow
}

// epoch is when every simulated cluster starts.
func epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Start builds the network, fills the API and starts the proxiers.
func (Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &session{
		cluster:   cluster,
		clock:     clocktesting.NewFakeClock(epoch()),
		client:    fake.NewClientset(),
		stop:      stop,
		nodes:     map[string]*node{},
		devices:   map[packetsim.Port]string{},
		listeners: map[string][]packetsim.Listener{},
		flows:     map[string]*keptFlow{},
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
	for _, o := range s.cluster.Objects {
		if err := s.put(ctx, o); err != nil {
			return err
		}
	}
	var err error
	if s.informers, err = config.Watch(ctx, s.client, config.Options{}); err != nil {
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

// Sync syncs the proxiers one after the other.
func (s *session) Sync(_ context.Context, nodes []string) error {
	var errs []error
	for _, name := range nodes {
		if err := s.nodes[name].proxy.Sync(); err != nil {
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

// writesPerDelivery keeps a burst of writes below what the fake clientset's
// watches hold; see package proxier/config.
const writesPerDelivery = 50

// Apply writes objects and waits until every proxier has them.
func (s *session) Apply(ctx context.Context, objects []manifest.Object) error {
	for i, o := range objects {
		if err := s.put(ctx, o); err != nil {
			return err
		}
		if i%writesPerDelivery == writesPerDelivery-1 {
			if err := s.informers.WaitDelivered(ctx); err != nil {
				return err
			}
		}
	}
	return s.informers.WaitDelivered(ctx)
}

// Delete deletes objects and waits until every proxier knows.
func (s *session) Delete(ctx context.Context, refs []manifest.Ref) error {
	for i, ref := range refs {
		if err := s.remove(ctx, ref); err != nil {
			return fmt.Errorf("delete %s: %w", ref, err)
		}
		if i%writesPerDelivery == writesPerDelivery-1 {
			if err := s.informers.WaitDelivered(ctx); err != nil {
				return err
			}
		}
	}
	return s.informers.WaitDelivered(ctx)
}
