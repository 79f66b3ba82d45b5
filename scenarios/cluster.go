package scenarios

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Cluster is a scenario's topology with everything filled in: what a Backend builds.
//
// All nodes and the router are on one layer-2 network, the underlay, with their
// device eth0. The nodes' default route is the router; they route each other's
// podCIDRs and pods over the underlay. A pod has a device of its own, a
// point-to-point link to its node, which has a host route to it. Machines in an
// underlay network are neighbours of the nodes; all others are behind the router,
// which has routes to them, to the podCIDRs and to the nodes' extra addresses. What
// machines outside send to an address that nobody has, the router hands to one of
// the nodes; what nodes and pods send there has no route.
type Cluster struct {
	IPFamily IPFamily
	Dialect  netfilter.Dialect
	Nodes    []Node
	Pods     []Pod
	Outside  []Machine
	// Configs are the kube-proxy configurations by node name.
	Configs map[string]*kubeproxyconfig.KubeProxyConfiguration
	Preload []Preload
	// mode is the one that every node is to keep, whatever steps say of its configuration; empty: what they say.
	mode Mode
	// Flushed says that a step flushes tables or chains: a real proxy looks only now and then whether somebody has, as often as its
	// configuration says.
	Flushed bool
	// named are the tools that the scenario writes rules with itself.
	named []DialectRef
	// Underlay are the networks of the underlay, Router the router's address in each.
	Underlay []netip.Prefix
	Router   []netip.Addr
	// podsEver is how many pods the cluster has had so far.
	podsEver int
	// Objects exist when kube-proxy starts: first the Node objects, then the scenario's, then the slices that are made of its pods.
	Objects []manifest.Object
	// ServiceIPs are the cluster IPs of all services that are there at the start or come in a step.
	ServiceIPs []netip.Addr
	// controller makes the slices of pods that steps change; nil where there are none to make.
	controller manifest.SliceController
}

// With returns the cluster with a variant of the tools, and with what steps change of its own.
func (c *Cluster) With(tool netfilter.Dialect) *Cluster {
	own := *c
	own.Dialect, own.Nodes, own.Pods = tool, slices.Clone(c.Nodes), slices.Clone(c.Pods)
	own.Configs = map[string]*kubeproxyconfig.KubeProxyConfiguration{}
	for name, config := range c.Configs {
		own.Configs[name] = config.DeepCopy()
	}
	if c.controller != nil {
		own.controller = c.controller.Clone()
	}
	return &own
}

// Dialects are the variants whose rules nodes have: the run's, and the other one if the scenario writes rules with it.
func (c *Cluster) Dialects() []netfilter.Dialect {
	if slices.ContainsFunc(c.named, func(o DialectRef) bool { return o.In(c.Dialect) != c.Dialect }) {
		return []netfilter.Dialect{c.Dialect, c.Dialect.Other()}
	}
	return []netfilter.Dialect{c.Dialect}
}

// RouterName is the name of the router in reports.
const RouterName = "router"

// Node returns the node of that name, nil if there is none.
func (c *Cluster) Node(name string) *Node {
	for i := range c.Nodes {
		if c.Nodes[i].Name == name {
			return &c.Nodes[i]
		}
	}
	return nil
}

// Pod returns the pod of that name, nil if there is none.
func (c *Cluster) Pod(name string) *Pod {
	for i := range c.Pods {
		if c.Pods[i].Name == name {
			return &c.Pods[i]
		}
	}
	return nil
}

func (c *Cluster) nodeNames() []string {
	out := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		out[i] = node.Name
	}
	return out
}

func (c *Cluster) nodeWith(a netip.Addr) *Node {
	for i := range c.Nodes {
		if slices.Contains(c.Nodes[i].Addresses, a) || slices.Contains(c.Nodes[i].ExtraAddresses, a) {
			return &c.Nodes[i]
		}
	}
	return nil
}

// Owner is the name of the node, pod or machine that has an address, empty if
// nothing has it.
func (c *Cluster) Owner(a netip.Addr) string {
	if node := c.nodeWith(a); node != nil {
		return node.Name
	}
	for _, pod := range c.Pods {
		if slices.Contains(pod.Addresses, a) {
			return pod.Name
		}
	}
	for _, m := range c.Outside {
		if slices.Contains(m.Addresses, a) {
			return m.Name
		}
	}
	if slices.Contains(c.Router, a) {
		return RouterName
	}
	return ""
}

// has reports whether a node, pod or machine of that name is there.
func (c *Cluster) has(name string) bool {
	return c.Node(name) != nil || c.Pod(name) != nil ||
		slices.ContainsFunc(c.Outside, func(m Machine) bool { return m.Name == name })
}

// nodeObjects are the Node objects that the API has of the cluster's nodes.
func (c *Cluster) nodeObjects() []manifest.Object {
	var out []manifest.Object
	for _, node := range c.Nodes {
		o := &corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: map[string]string{labelHostname: node.Name}},
		}
		if node.Zone != "" {
			o.Labels[labelZone] = node.Zone
		}
		for k, v := range node.Labels {
			o.Labels[k] = v
		}
		for _, cidr := range node.PodCIDRs {
			o.Spec.PodCIDRs = append(o.Spec.PodCIDRs, cidr.String())
		}
		if len(o.Spec.PodCIDRs) > 0 {
			o.Spec.PodCIDR = o.Spec.PodCIDRs[0]
		}
		o.Status.Addresses = internalAddresses(node.Addresses)
		out = append(out, manifest.Object{Object: o, Pos: node.Pos})
	}
	return out
}

// internalAddresses are addresses as a Node object names them.
func internalAddresses(addresses []netip.Addr) (out []corev1.NodeAddress) {
	for _, a := range addresses {
		out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
	}
	return out
}
