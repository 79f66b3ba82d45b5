package proxytest

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// Cluster is a simulated cluster whose nodes have no proxy but the one under test. It is for one goroutine.
type Cluster struct {
	scenario *scenarios.Cluster
	world    *sim.World
	nodes    []*Node
}

// Node is a node of the cluster.
type Node struct {
	// Name is that of the Node object.
	Name string
	// Addresses are the addresses of eth0, PodCIDRs the ranges of its pods.
	Addresses []netip.Addr
	PodCIDRs  []netip.Prefix

	sysctls proxier.Sysctls
	tools   exec.Interface
	cluster *Cluster
}

// New makes a cluster of the topology, the objects and the kube-proxy configuration of a scenario; its steps are not
// looked at, and of iptables.tools the first counts (legacy if none is given). A zero Scenario has two nodes. Objects reads
// objects from YAML.
func New(s *scenarios.Scenario) (*Cluster, error) {
	resolved, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil, err
	}
	tool := netfilter.Legacy
	if len(s.IPTables.Dialects) > 0 {
		tool = s.IPTables.Dialects[0]
	}
	c := &Cluster{scenario: resolved.With(tool)}
	return c, c.start(context.Background(), func(*Node) error { return nil })
}

// start starts a world in which the program under test is what syncs nodes.
func (c *Cluster) start(ctx context.Context, sync func(*Node) error) (err error) {
	c.world, err = sim.NewWorld(ctx, c.scenario, sim.Options{Direct: true, Proxier: func(p node.Process) (node.Proxy, []string, error) {
		n := c.takeOver(p)
		return &substitute{sync: func() error { return sync(n) }}, nil, nil
	}})
	return err
}

// takeOver makes a node of a process that a proxier would be: one for each node, whose process may start anew.
func (c *Cluster) takeOver(p node.Process) *Node {
	of := c.scenario.Node(p.Node)
	n := &Node{Name: of.Name, Addresses: of.Addresses, PodCIDRs: of.PodCIDRs, sysctls: p.Kernel.Sysctls, tools: p.Kernel.Exec, cluster: c}
	if i := slices.IndexFunc(c.nodes, func(known *Node) bool { return known.Name == n.Name }); i >= 0 {
		c.nodes[i] = n
	} else {
		c.nodes = append(c.nodes, n)
	}
	return n
}

// Objects reads Kubernetes objects from YAML or JSON, several documents or lists, for Scenario.Objects.
func Objects(text string) (scenarios.Objects, error) {
	return manifest.ReadObjects("objects", strings.NewReader(text))
}

// Nodes are the nodes, in their order in the scenario.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Services are the services that are there now, sorted. They are not to be changed.
func (c *Cluster) Services() []*corev1.Service { return c.nodes[0].Services() }

// EndpointSlices are the slices that are there now, sorted. They are not to be changed.
func (c *Cluster) EndpointSlices() []*discoveryv1.EndpointSlice { return c.nodes[0].EndpointSlices() }

// Apply creates or replaces objects; the proxy under test has to be told.
func (c *Cluster) Apply(objects ...runtime.Object) error {
	list := make([]manifest.Object, len(objects))
	for i, o := range objects {
		var err error
		if list[i], err = manifest.New(o); err != nil {
			return err
		}
	}
	return c.world.Apply(context.Background(), list)
}

// Delete deletes an object of its kind, namespace and name; the proxy under test has to be told.
func (c *Cluster) Delete(o runtime.Object) error {
	object, err := manifest.New(o)
	if err != nil {
		return err
	}
	return c.world.Delete(context.Background(), []manifest.Ref{object.Ref()})
}

// Run lets the proxy under test do its work on every node in turn.
func (c *Cluster) Run(proxy func(*Node) error) error {
	for _, n := range c.nodes {
		if err := proxy(n); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

// Services are the services that the node's proxy has been told of, sorted: those that are there, unless a scenario holds something back.
// They are not to be changed.
func (n *Node) Services() []*corev1.Service { return n.cluster.world.Knowledge(n.Name).Services }

// EndpointSlices are the slices that the node's proxy has been told of, as Services are.
func (n *Node) EndpointSlices() []*discoveryv1.EndpointSlice {
	return n.cluster.world.Knowledge(n.Name).Slices
}

// Exec runs the iptables tools of the node: iptables, iptables-save, iptables-restore, their twins for IPv6, ipset, nfacct.
func (n *Node) Exec() exec.Interface { return n.tools }

// SetSysctl makes a kernel setting, such as net/ipv4/conf/all/route_localnet.
func (n *Node) SetSysctl(name string, value int) error { return n.sysctls.Set(name, value) }
