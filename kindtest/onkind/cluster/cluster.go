package cluster

import (
	"net/netip"

	"k8s.io/client-go/rest"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/chainwalk/chainwalk/internal/scratchimage"
	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
)

// Cluster is a running one. Its methods are for one goroutine, but for Relay and Metrics, which are for any.
type Cluster struct {
	*members
	*nodeProxies
	*hands
	progress *progress
	provider *kind.Provider

	// What Close has to take away.
	made, madeNetwork, madeOutside bool

	agentImage *scratchimage.Image
	hosts      []nodes.Node // in the order of nodes
	pods       []Pod
	outside    Outside
	rest       *rest.Config
}

// newCluster is a cluster that was not looked for yet.
func newCluster(config Config) *Cluster {
	c := &Cluster{members: &members{config: config}}
	c.hands = &hands{open: c.Relay}
	c.nodeProxies = &nodeProxies{members: c.members, hands: c.hands, files: map[string]proxyFile{}}
	return c
}

// members are what a cluster consists of, as far as that was read.
type members struct {
	config  Config
	nodes   []Node
	client  apiclient.Client
	foreign *kubeproxy.KubeProxyConfiguration // of the kube-proxy that an existing cluster came with
}

// Node is a node of the cluster.
type Node struct {
	// Name is that of the Node object, of the container, of the host for Relay, and of the agent in its network namespace.
	Name string
	// Zone is the node's label topology.kubernetes.io/zone.
	Zone string
	// Addresses are its internal ones, the primary family's first.
	Addresses []netip.Addr
	// PodCIDRs are the ranges of its pods, in the order of Addresses.
	PodCIDRs []netip.Prefix
}

// Pod is a pod of the pool.
type Pod struct {
	// Name is that of the object and of its agent, Node the name of its node and of the host that its relay is in.
	Namespace, Name, Node string
	// Addresses are the pod's, the primary family's first.
	Addresses []netip.Addr
}

// Outside is a container on the network of the nodes.
type Outside struct {
	// Name is that of the container, of the host for Relay, and of its agent.
	Name string
	// Addresses are the addresses that Docker gave it, IPv4 before IPv6.
	Addresses []netip.Addr
}

// Nodes are the nodes, the control plane first, then by name.
func (m *members) Nodes() []Node { return m.nodes }

// Pods are the pods of the pool, by node in the order of Nodes, then by number.
func (c *Cluster) Pods() []Pod { return c.pods }

// Outside is the container outside the cluster. Its agent may be given more addresses, and it has routes to the nodes' podCIDRs.
func (c *Cluster) Outside() Outside { return c.outside }

// Image is that of the nodes, if Start made them.
func (m *members) Image() string { return m.config.Image }

// Client reaches the API server with all rights and without a limit of its own.
func (m *members) Client() apiclient.Client { return m.client }

// RESTConfig is what Client was made of.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.rest) }

func (m *members) nodeNames() []string {
	var names []string
	for _, node := range m.nodes {
		names = append(names, node.Name)
	}
	return names
}
