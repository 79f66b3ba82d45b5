package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	"github.com/chainwalk/chainwalk/scenarios/world/tools"
)

// Nodes are the nodes of a cluster and the API that their proxiers watch: what a
// scenarios.Session does without packets, as every backend does it.
type Nodes struct {
	cluster *scenarios.Cluster
	clock   *clocktesting.FakeClock
	breaks  bool
	api     kubeAPI
	stop    context.CancelFunc
	nodes   map[string]*Node
}

// kubeAPI is the API as a cluster's nodes use it.
type kubeAPI interface {
	Feeder
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Apply(ctx context.Context, objects []manifest.Object) error
	Delete(ctx context.Context, refs []manifest.Ref) error
}

// Options say how a cluster's nodes are. The zero value: as a scenario has them.
type Options struct {
	// Direct has objects given to the proxiers as they are, without a clientset and informers.
	Direct bool
	// Proxier makes the nodes' proxiers; nil: Chainwalk.
	Proxier Proxier
	// OneFamily has proxiers in a cluster of one family serve that alone, as on machines that lack the tools of the other one.
	OneFamily bool
	// Breaks has a sync end with an error when its context does, between two nodes or two tools. Who judges what a sync leaves behind
	// takes whole ones.
	Breaks bool
}

// Start makes the nodes of a cluster on the kernels, which go by the nodes' names:
// it restores the rules that are there before kube-proxy, fills the API and starts
// the proxiers. The clock moves all of them.
func Start(
	ctx context.Context, cluster *scenarios.Cluster, clock *clocktesting.FakeClock, kernels map[string]Kernel, o Options,
) (*Nodes, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &Nodes{cluster: cluster, clock: clock, stop: stop, breaks: o.Breaks, nodes: map[string]*Node{}}
	for name, kernel := range kernels {
		n := New(name, kernel, clock)
		if o.Proxier != nil {
			n.RunBy(o.Proxier)
		}
		if o.OneFamily {
			n.process.family = familyOf(cluster)
		}
		s.nodes[name] = n
	}
	if err := s.start(ctx, o.Direct); err != nil {
		stop()
		return nil, err
	}
	return s, nil
}

// familyOf is the only family of a cluster, empty if it has both.
func familyOf(cluster *scenarios.Cluster) corev1.IPFamily {
	switch cluster.IPFamily {
	case scenarios.FamilyIPv4:
		return corev1.IPv4Protocol
	case scenarios.FamilyIPv6:
		return corev1.IPv6Protocol
	}
	return ""
}

func (s *Nodes) start(ctx context.Context, direct bool) error {
	err := s.preload()
	if err != nil {
		return err
	}
	if direct {
		s.api, err = api.NewDirect(s.cluster.Objects)
	} else {
		s.api, err = api.New(ctx, s.cluster.Objects, klog.FromContext(ctx))
	}
	if err != nil {
		return err
	}
	for i := range s.cluster.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.startProxier(ctx, s.cluster.Nodes[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// preload restores the rules that are there before kube-proxy starts.
func (s *Nodes) preload() error {
	for _, p := range s.cluster.Preload {
		for i := range s.cluster.Nodes {
			name := s.cluster.Nodes[i].Name
			if !p.IsFor(name) {
				continue
			}
			rules, argv := p.Save, []string{tools.Of(tools.Name(p.Family, "-restore"), p.Dialect, s.cluster.Dialect), "--noflush"}
			if p.NFT != "" {
				rules, argv = p.NFT, []string{"nft", "-f", "-"}
			}
			if _, err := s.nodes[name].Run(rules, argv...); err != nil {
				return fmt.Errorf("%s: preload: %w", p.Pos, err)
			}
		}
	}
	return nil
}

// startProxier starts a node's proxier with the configuration that the cluster has for it now.
func (s *Nodes) startProxier(ctx context.Context, name string) error {
	object, err := s.api.Node(ctx, name)
	if err == nil {
		_, err = s.nodes[name].Start(ctx, s.api, s.cluster.Configs[name], object)
	}
	if err != nil {
		return fmt.Errorf("start kube-proxy on %s: %w", name, err)
	}
	return nil
}

// Node returns the node of that name.
func (s *Nodes) Node(name string) *Node { return s.nodes[name] }

// Close ends the informers.
func (s *Nodes) Close() error {
	s.stop()
	return nil
}

// Apply writes objects and waits until every proxier has them.
func (s *Nodes) Apply(ctx context.Context, objects []manifest.Object) error {
	return s.api.Apply(ctx, objects)
}

// Delete deletes objects and waits until every proxier knows.
func (s *Nodes) Delete(ctx context.Context, refs []manifest.Ref) error {
	return s.api.Delete(ctx, refs)
}

// Sync syncs the proxiers of these nodes one after the other.
func (s *Nodes) Sync(ctx context.Context, nodes []string) error {
	var errs []error
	for _, name := range nodes {
		if s.breaks && ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		if err := s.sync(ctx, s.nodes[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// sync syncs the proxier of one node.
func (s *Nodes) sync(ctx context.Context, n *Node) error {
	if s.breaks {
		n.tools.Interrupted = ctx.Err
		defer func() { n.tools.Interrupted = nil }()
	}
	return n.Sync()
}

// Restart replaces the proxiers of these nodes by new ones on the same kernels.
func (s *Nodes) Restart(ctx context.Context, nodes []string) error {
	for _, name := range nodes {
		if err := s.startProxier(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Advance moves the clock.
func (s *Nodes) Advance(_ context.Context, d time.Duration) error {
	s.clock.Step(d)
	return nil
}

// Save is what iptables-save -c prints on a node, ip6tables-save for ipv6.
func (s *Nodes) Save(_ context.Context, node string, family scenarios.IPFamily) (string, error) {
	return s.nodes[node].save(family)
}

// List is what nft list table prints of kube-proxy's table on a node; empty if there is none.
func (s *Nodes) List(_ context.Context, node string, family scenarios.IPFamily) (string, error) {
	return s.nodes[node].list(family)
}

// Accounting are the packets that a node's accounting objects have counted, by name.
func (s *Nodes) Accounting(_ context.Context, node string) (map[string]int, error) {
	return s.nodes[node].accounting()
}

// Health is what the proxier of the cluster's first family tells its health check server.
func (s *Nodes) Health(_ context.Context, node string) (map[string]int, error) {
	return s.nodes[node].serviceHealth(s.cluster.IPFamily), nil
}

// Healthz is what a node's proxier says of itself.
func (s *Nodes) Healthz(_ context.Context, node string) (bool, error) {
	return s.nodes[node].healthz(), nil
}

// Writes is what a node's proxier has given to restores in its last sync.
func (s *Nodes) Writes(_ context.Context, node string) (scenarios.Written, error) {
	return s.nodes[node].tools.Written, nil
}

// Hold says which nodes' proxiers are not told of changes from here on.
func (s *Nodes) Hold(_ context.Context, nodes []string) error {
	for name, n := range s.nodes {
		n.hold(slices.Contains(nodes, name))
	}
	return nil
}

// Deliver tells held nodes some of what was held back.
func (s *Nodes) Deliver(_ context.Context, d scenarios.Delivery) error {
	for _, name := range d.Nodes {
		s.nodes[name].queue.Deliver(d)
	}
	return nil
}

// During has a function called at every point of the syncs from here on.
func (s *Nodes) During(ctx context.Context, watch func(context.Context, scenarios.Point)) error {
	for _, n := range s.nodes {
		if watch == nil {
			n.tools.Watch.Tell(nil)
			continue
		}
		n.tools.Watch.Tell(func(p scenarios.Point) { watch(ctx, p) })
	}
	return nil
}

// Fault makes something go wrong on one node.
func (s *Nodes) Fault(_ context.Context, f scenarios.Fault) error {
	if f.Family == "" && s.cluster.IPFamily != scenarios.FamilyDual {
		f.Family = s.cluster.IPFamily // the proxier writes the other one too, about which nobody asks
	}
	return s.nodes[f.Node].fault(f, tools.Families(s.cluster.IPFamily),
		func(name string) string { return tools.Of(name, f.Dialect, s.cluster.Dialect) })
}
