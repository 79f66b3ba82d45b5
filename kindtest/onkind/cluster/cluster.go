package cluster

import (
	"net/netip"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/chainwalk/chainwalk/kindtest/probe"
)

// Cluster is a running one. Its methods are for one goroutine, but for Relay and Metrics, which are for any.
type Cluster struct {
	config   Config
	progress *progress
	provider *kind.Provider

	// What Close has to take away.
	made, madeNetwork, madeOutside bool

	agentImage, proxyImage *image
	hosts                  []nodes.Node // in the order of nodes
	nodes                  []Node
	pods                   []Pod
	outside                Outside
	rest                   *rest.Config
	client                 kubernetes.Interface

	foreign *kubeproxy.KubeProxyConfiguration
	files   map[string]proxyFile // of the proxy, by node

	handsMu sync.Mutex
	hands   map[string]*probe.Client // by host
}

// Node is a node of the cluster.
type Node struct {
	// Name is that of the Node object, of the container, of the host for Relay, and of the agent in its network namespace.
	Name string
	// Zone is the node's label topology.kubernetes.io/zone.
	Zone string
	// Addresses are its internal ones, the primary family's first.
	Addresses []netip.Addr
	// PodCIDRs are those of its pods, in the order of Addresses.
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
	// Addresses are those that Docker gave it, IPv4 before IPv6.
	Addresses []netip.Addr
}

// Nodes are the nodes, the control plane first, then by name.
func (c *Cluster) Nodes() []Node { return c.nodes }

// Pods are those of the pool, by node in the order of Nodes, then by number.
func (c *Cluster) Pods() []Pod { return c.pods }

// Outside is the container outside the cluster. Its agent may be given more addresses, and it has routes to the nodes' podCIDRs.
func (c *Cluster) Outside() Outside { return c.outside }

// Image is that of the nodes, if Start made them.
func (c *Cluster) Image() string { return c.config.Image }

// Client reaches the API server with all rights and without a limit of its own.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// RESTConfig is what Client was made of.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.rest) }

func (c *Cluster) nodeNames() []string {
	var names []string
	for _, node := range c.nodes {
		names = append(names, node.Name)
	}
	return names
}
