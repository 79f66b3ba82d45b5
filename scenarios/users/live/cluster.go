package live

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Cluster is what is known of a running cluster.
type Cluster struct {
	// Objects are its Services, EndpointSlices, Nodes and Pods, and the ConfigMap of kube-proxy if it is among them.
	Objects []manifest.Object
	// Config is the configuration of the nodes' kube-proxies. If it is nil, that of the ConfigMap kube-system/kube-proxy
	// counts, and without one kube-proxy's defaults, with the range of the nodes' podCIDRs as clusterCIDR.
	Config *kubeproxyconfig.KubeProxyConfiguration
	// NodeConfigs are the configurations of nodes whose kube-proxy has another one, by name.
	NodeConfigs map[string]*kubeproxyconfig.KubeProxyConfiguration
	// Snapshots are the snapshots of some of its nodes, found by their host names.
	Snapshots []*snapshot.NodeSnapshot
	// NoSnapshot says why nodes have no snapshot that were asked for one, by their names.
	NoSnapshot map[string]string
	// Backend is the backend of iptables that kube-proxy writes, legacy or nft, where a node has rules of both. Packets are
	// walked through both.
	Dialect netfilter.Dialect
	// AllPackets has an examination look at all packets of each node too, for those that it lets through and whose replies it stops.
	// MostDevices is how many devices a node may have for that; 0: any number.
	AllPackets  bool
	MostDevices int

	// ends are addresses of which the topology has who has them, found those of pods that snapshots alone tell of, and only is the one family
	// that the topology is of; see View.
	ends, found []netip.Addr
	only        scenarios.IPFamily
	doubted     int // how many connections are followed for their doubts; 0 is the usual number
}

// errNoNodes says that a cluster cannot be told from its objects: they have no Node.
var errNoNodes = errors.New("the objects have no Node: give the output of kubectl get services,endpointslices,nodes,pods -A")

func (c *Cluster) nodes() []*corev1.Node       { return manifest.Of[*corev1.Node](c.Objects) }
func (c *Cluster) pods() []*corev1.Pod         { return manifest.Of[*corev1.Pod](c.Objects) }
func (c *Cluster) services() []*corev1.Service { return manifest.Of[*corev1.Service](c.Objects) }
func (c *Cluster) slices() []*discoveryv1.EndpointSlice {
	return manifest.Of[*discoveryv1.EndpointSlice](c.Objects)
}

// snapshotOf is the snapshot of a node, nil if none was given.
func (c *Cluster) snapshotOf(node string) *snapshot.NodeSnapshot {
	for _, s := range c.Snapshots {
		if s.Hostname == node {
			return s
		}
	}
	return nil
}

// checkSnapshots refuses snapshots and configurations that are of no node.
func (c *Cluster) checkSnapshots() error {
	known := map[string]bool{}
	var names []string
	for _, node := range c.nodes() {
		known[node.Name] = true
		names = append(names, node.Name)
	}
	if len(names) == 0 {
		return errNoNodes
	}
	for _, name := range slices.Sorted(maps.Keys(c.NodeConfigs)) {
		if !known[name] {
			return fmt.Errorf("a configuration is of %q, and no Node has that name: the objects have %s", name, strings.Join(names, ", "))
		}
	}
	seen := map[string]bool{}
	for _, s := range c.Snapshots {
		switch {
		case !known[s.Hostname]:
			return fmt.Errorf("a snapshot is of %q, and no Node has that name: the objects have %s", s.Hostname, strings.Join(names, ", "))
		case seen[s.Hostname]:
			return fmt.Errorf("two snapshots are of %s: give one of each node", s.Hostname)
		}
		seen[s.Hostname] = true
	}
	return nil
}

// config is the configuration of all kube-proxies but those of NodeConfigs; nil if nothing says it.
func (c *Cluster) config() (*kubeproxyconfig.KubeProxyConfiguration, error) {
	if c.Config != nil {
		return c.Config, nil
	}
	return manifest.KubeProxyConfigurationOf(c.Objects)
}

// ConfigurationAssumed is the note that nobody has said how kube-proxy is configured.
const ConfigurationAssumed = "no kube-proxy configuration is known: its defaults count, " +
	"with the range of the nodes' podCIDRs as clusterCIDR"

// AssumedConfiguration is that of kube-proxies of which nobody has said how they are configured.
func AssumedConfiguration(objects []manifest.Object) *kubeproxyconfig.KubeProxyConfiguration {
	var all []netip.Prefix
	for _, node := range manifest.Of[*corev1.Node](objects) {
		for _, text := range podCIDRs(node) {
			if cidr, err := netip.ParsePrefix(text); err == nil {
				all = append(all, cidr)
			}
		}
	}
	return &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: scenarios.PodRange(all)}
}
