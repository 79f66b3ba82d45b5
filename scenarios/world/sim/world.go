package sim

import (
	"context"
	"fmt"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/network"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/api"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
)

// Options say how a World is. Its zero value is what scenarios run in.
type Options struct {
	// Direct has objects given to the proxiers as they are, without a clientset and informers: they are not
	// copied, and must not be changed afterwards. What proxiers are told is the same; it is for cases of which there are many.
	Direct bool
	// Proxier makes the nodes' proxiers; nil: node.Chainwalk.
	Proxier node.Proxier
	// OneFamily has proxiers in a cluster of one family serve that alone, as on machines that lack the tools of the other one. It halves
	// what a first sync costs.
	OneFamily bool
	// breaks has syncs and packets end with an error when their context does, in the middle of what they do. Who judges what they leave
	// behind takes whole ones.
	breaks bool
}

// World is one simulated cluster. It is a scenarios.Session, and answers the oracle's questions beside. It is for one goroutine.
type World struct {
	*node.Nodes
	cluster *scenarios.Cluster
	clock   *clocktesting.FakeClock
	network *network.Network
	plan    *plan.Plan
	kernels map[string]*fakekernel.Kernel // by node
	flows   map[string]*keptFlow
	reached []network.Reached
	breaks  bool
}

var (
	_ scenarios.SpecifiedSession = (*World)(nil)
	_ scenarios.NFTSession       = (*World)(nil)
)

// NewWorld builds the network of a cluster, fills the API and starts the proxiers, none of which has synced when it
// returns. Steps change the cluster: give each world its own (Cluster.With).
func NewWorld(ctx context.Context, cluster *scenarios.Cluster, o Options) (*World, error) {
	w := &World{
		cluster: cluster, clock: node.NewClock(), network: network.New(), plan: plan.Of(cluster),
		kernels: map[string]*fakekernel.Kernel{}, flows: map[string]*keptFlow{}, breaks: o.breaks,
	}
	kernels, err := w.build()
	if err != nil {
		return nil, fmt.Errorf("build the network: %w", err)
	}
	w.Nodes, err = node.Start(ctx, cluster, w.clock, kernels, node.Options{
		Direct: o.Direct, Proxier: o.Proxier, OneFamily: o.OneFamily, Breaks: o.breaks,
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Now is the time of the world's clock.
func (w *World) Now() time.Time { return w.clock.Now() }

// Kernel is a node's kernel with its proxier's tools, nil if there is no such node.
func (w *World) Kernel(node string) *fakekernel.Kernel { return w.kernels[node] }

// Host is a host of the world, nil if there is none of that name.
func (w *World) Host(name string) *packetsim.Host {
	if h := w.network.Host(name); h != nil {
		return h.Host
	}
	return nil
}

// Knowledge is what a node's proxier knows.
func (w *World) Knowledge(node string) *api.Knowledge { return w.Node(node).Knowledge() }

// Specified is the cluster by which the specification judges the world.
func (w *World) Specified(objects []manifest.Object) *oracle.Cluster { return w.plan.Oracle(objects) }

// Plan is the network of the cluster.
func (w *World) Plan() *plan.Plan { return w.plan }
