package netns

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// Backend runs scenarios in network namespaces. Its zero value is ready for use.
type Backend struct {
	// samples is how often a connection is made whose way depends on chance; 0 is 100.
	samples int
	// Proxier makes the nodes' proxiers; nil: this project's own.
	Proxier node.Proxier
}

var _ scenarios.ControlledBackend = Backend{}

const defaultSamples = 100

// Name is "netns".
func (Backend) Name() string { return scenarios.BackendNetns }

// SliceController is Kubernetes' own, as package controller has it.
func (Backend) SliceController(ever []manifest.Object) manifest.SliceController {
	return controller.New(ever)
}

// session is one cluster.
type session struct {
	*node.Nodes
	cluster   *scenarios.Cluster
	network   *network
	clock     *clocktesting.FakeClock // of the proxiers; only Advance moves it
	nodes     map[string]*nodeHost
	flows     map[string]*keptFlow
	ports     endpointPorts
	watched   bool // somebody looks on while nodes sync
	passing   sync.Mutex
	slept     error // what went wrong while time passed within a sync
	samples   int
	questions int      // asked so far
	got       []served // what sockets got in the current try
	fds       []unix.PollFd
}

// Start builds the network, fills the API and starts the proxiers.
func (b Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	s := &session{cluster: cluster, clock: node.NewClock(), nodes: map[string]*nodeHost{}, flows: map[string]*keptFlow{}, samples: b.samples}
	if s.samples == 0 {
		s.samples = defaultSamples
	}
	if err := s.start(ctx, b.Proxier); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *session) start(ctx context.Context, proxier node.Proxier) error {
	var err error
	cluster := s.cluster
	if s.network, err = build(cluster); err != nil {
		return fmt.Errorf("build the network: %w", err)
	}
	kernels := map[string]node.Kernel{}
	for _, h := range s.network.hosts {
		if err := h.startWatch(); err != nil {
			return fmt.Errorf("watch %s: %w", h.Name, err)
		}
		if h.Node != nil {
			n := &nodeHost{host: h, memory: newMemory()}
			kernel := n.kernel()
			kernel.Sleep = s.sleep
			s.nodes[h.Name], kernels[h.Name] = n, kernel
		}
	}
	s.ports.note(cluster.Objects)
	s.Nodes, err = node.Start(ctx, cluster, s.clock, kernels, node.Options{Proxier: proxier})
	return err
}

// Close ends the connections and the informers and gives the namespaces up.
func (s *session) Close() error {
	var errs []error
	if s.Nodes != nil {
		errs = append(errs, s.Nodes.Close())
	}
	for _, flow := range s.flows {
		flow.close()
	}
	if s.network != nil {
		errs = append(errs, s.network.close())
	}
	return errors.Join(errs...)
}

// Apply writes objects and waits until every proxier has them.
func (s *session) Apply(ctx context.Context, objects []manifest.Object) error {
	s.ports.note(objects)
	return s.Nodes.Apply(ctx, objects)
}
