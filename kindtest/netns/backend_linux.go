package netns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	discoveryv1 "k8s.io/api/discovery/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/api"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
	"github.com/chainwalk/chainwalk/scenarios/plan"
)

// Backend runs scenarios in network namespaces. Its zero value is ready for use.
type Backend struct {
	// Samples is how often a connection is made whose way depends on chance; 0 is 100.
	Samples int
}

var _ scenarios.Backend = Backend{}

const defaultSamples = 100

// Name is "netns".
func (Backend) Name() string { return scenarios.BackendNetns }

// session is one cluster.
type session struct {
	cluster   *scenarios.Cluster
	network   *network
	clock     *clocktesting.FakeClock
	api       *api.API
	stop      context.CancelFunc
	nodes     map[string]*node
	flows     map[string]*keptFlow
	ports     endpointPorts
	samples   int
	questions int      // asked so far
	got       []served // what sockets got in the current try
	fds       []unix.PollFd
}

// epoch is when the proxiers' clock starts; only Advance moves it.
func epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Start builds the network, fills the API and starts the proxiers.
func (b Backend) Start(ctx context.Context, cluster *scenarios.Cluster) (scenarios.Session, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &session{
		cluster: cluster,
		clock:   clocktesting.NewFakeClock(epoch()),
		stop:    stop,
		nodes:   map[string]*node{},
		flows:   map[string]*keptFlow{},
		samples: b.Samples,
	}
	if s.samples == 0 {
		s.samples = defaultSamples
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *session) start(ctx context.Context) error {
	var err error
	if s.network, err = build(s.cluster); err != nil {
		return fmt.Errorf("build the network: %w", err)
	}
	for _, h := range s.network.hosts {
		if err := h.startWatch(s.cluster.Tool); err != nil {
			return fmt.Errorf("watch %s: %w", h.Name, err)
		}
		if h.Node != nil {
			s.nodes[h.Name] = newNode(h)
		}
	}
	if err := s.preload(); err != nil {
		return err
	}
	s.ports.note(s.cluster.Objects)
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

// Close ends the connections and the informers and gives the namespaces up.
func (s *session) Close() error {
	s.stop()
	for _, flow := range s.flows {
		flow.close()
	}
	if s.network == nil {
		return nil
	}
	return s.network.close()
}

// Sync syncs the proxiers at the same time, as nodes do. Each looks first whether
// its rules were flushed, which a real one does every now and then.
func (s *session) Sync(_ context.Context, nodes []string) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, name := range nodes {
		all.Go(func() {
			n := s.nodes[name]
			if err := errors.Join(n.proxy.EnsureCanaries(), n.proxy.Sync()); err != nil {
				errs[i] = fmt.Errorf("%s: %w", name, err)
			}
			errs[i] = errors.Join(errs[i], n.rulesChanged())
		})
	}
	all.Wait()
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
	s.ports.note(objects)
	return s.api.Apply(ctx, objects)
}

// Delete deletes objects and waits until every proxier knows.
func (s *session) Delete(ctx context.Context, refs []manifest.Ref) error {
	return s.api.Delete(ctx, refs)
}

// endpointPorts are the ports that endpoints have had.
type endpointPorts map[packetsim.Proto][]uint16

func (e *endpointPorts) note(objects []manifest.Object) {
	if *e == nil {
		*e = endpointPorts{}
	}
	for _, o := range objects {
		slice, ok := o.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Protocol == nil {
				continue
			}
			proto := plan.Proto(protocolName(string(*p.Protocol)), false)
			if port := uint16(*p.Port); !slices.Contains((*e)[proto], port) {
				(*e)[proto] = append((*e)[proto], port)
			}
		}
	}
}

func protocolName(p string) string {
	return map[string]string{"TCP": "tcp", "UDP": "udp", "SCTP": "sctp"}[p]
}

// of returns a list that the caller may append to.
func (e endpointPorts) of(proto packetsim.Proto) []uint16 { return slices.Clip(e[proto]) }
