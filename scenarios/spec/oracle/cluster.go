package oracle

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
)

// Cluster is what the specification judges by: what the API holds, and what the
// network is made of. It is not changed once a Spec was made of it.
//
// All nodes and their neighbours are on one layer-2 network with a router. What nodes
// and pods send to an address that nobody has ends at the router; what machines send
// there is handed to the node that Attempt.Via names.
type Cluster struct {
	Nodes    []Node
	Pods     []Pod
	Machines []Machine
	// Underlay are the networks that the nodes share with their neighbours.
	Underlay []netip.Prefix
	Services []*corev1.Service
	Slices   []*discoveryv1.EndpointSlice
	// ServiceCIDRs are the ranges that cluster IPs are of, as the API has them; none if it does not tell.
	ServiceCIDRs []netip.Prefix
}

// Node is a machine that runs a service proxy.
type Node struct {
	Name string
	// Addresses are the addresses of its devices, without loopback, with those towards its pods;
	// the first of each family is its main one.
	Addresses []netip.Addr
	// Found are the Addresses that its proxier found when it last synced; all if not given.
	Found    []netip.Addr
	PodCIDRs []netip.Prefix
	// Object is the Node object as its proxier knows it, Started as that found it when it started; Object if not given.
	// The status of Started names the node's primary addresses; without any, Addresses do.
	Object, Started *corev1.Node
	// Config is its proxier's configuration. What is not given has kube-proxy's default.
	Config *kubeproxyconfig.KubeProxyConfiguration
	// Listen are the sockets of its host network.
	Listen []Listener
	// device is its device on the underlay, for detectors of local traffic that go by devices.
	device string
	// Liberal says that conntrack takes TCP packets outside of the window for good ones: net.netfilter.nf_conntrack_tcp_be_liberal, or the
	// configuration's word for it.
	Liberal bool
	// Filters says that rules of others on this node drop packets, and it is not known which packets: then only what the API says about
	// them is certain, and nothing about packets of no service.
	Filters bool
	// Filter is what is known of them, by family, IPv4 first. It is not looked at if Filters is set.
	Filter [2]Filter
}

// Pod is a pod with a network of its own.
type Pod struct {
	Name, Node string
	Addresses  []netip.Addr
	Listen     []Listener
	// Device is its node's device to it, for detectors of local traffic that go by devices.
	Device string
}

// Machine is a machine that is no node: a neighbour in the nodes' own network, or outside.
type Machine struct {
	Name      string
	Addresses []netip.Addr
	Listen    []Listener
}

// Listener is a socket that answers. Its zero value answers everything.
type Listener struct {
	Protocol corev1.Protocol // empty: every protocol
	Addr     netip.Addr      // unset: every address
	Port     uint16          // 0: every port
}
