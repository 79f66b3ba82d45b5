package scenarios

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/document"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

// IPFamily is the addresses that a cluster has.
type IPFamily string

// The families.
const (
	FamilyIPv4 IPFamily = "ipv4"
	FamilyIPv6 IPFamily = "ipv6"
	FamilyDual IPFamily = "dual"
)

// has reports whether an address belongs to the family.
func (f IPFamily) has(a netip.Addr) bool {
	return f == FamilyDual || a.Is6() == (f == FamilyIPv6)
}

// Topology is what the cluster is made of.
type Topology struct {
	IPFamily IPFamily  `json:"ipFamily" enum:"ipv4 ipv6 dual" doc:"ipv4 (if not given), ipv6 or dual."`
	Nodes    Nodes     `json:"nodes" doc:"A number of nodes (node1, node2, ...), or a list of them. Two if not given."`
	Pods     []Pod     `json:"pods" doc:"Pods. Those behind endpoints need not be given."`
	Outside  []Machine `json:"outside" doc:"Machines outside of the cluster. Those named by an address in a step need not be given."`
}

// Nodes are the cluster's nodes; in a file a number stands for that many nodes
// without anything special.
type Nodes []Node

// maxNodes is what the default addresses have room for.
const maxNodes = 200

// UnmarshalDocument reads a number or a list.
func (n *Nodes) UnmarshalDocument(d *document.Decoder, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		count, err := strconv.Atoi(node.Value)
		if err != nil || count < 1 || count > maxNodes {
			d.Errorf(node, "nodes: want a number of nodes (1 to %d) or a list of nodes", maxNodes)
			return
		}
		*n = make(Nodes, count)
		return
	}
	var list []Node
	before := d.Count()
	d.Decode(node, &list)
	if len(list) == 0 && d.Count() == before || len(list) > maxNodes {
		d.Errorf(node, "nodes: a cluster has 1 to %d nodes", maxNodes)
	}
	*n = list
}

func (n Nodes) spell() (*yaml.Node, error) {
	for i := range n {
		if given(reflect.ValueOf(n[i])) {
			return itemsOf(reflect.ValueOf(n))
		}
	}
	return scalar("!!int", strconv.Itoa(len(n))), nil
}

// Node is one node of the cluster.
type Node struct {
	document.Located
	Name           string            `json:"name" doc:"node1, node2, ... by its place in the list, if not given."`
	Zone           string            `json:"zone" doc:"The label topology.kubernetes.io/zone."`
	Labels         map[string]string `json:"labels" doc:"Further labels."`
	Addresses      []netip.Addr      `json:"addresses" doc:"The addresses of eth0 that the Node object names, one for each family. Node N has 192.168.0.(N+1) and 2001:db8::(N+1)."`
	ExtraAddresses []netip.Addr      `json:"extraAddresses" doc:"Addresses that eth0 has besides."`
	PodCIDRs       []netip.Prefix    `json:"podCIDRs" doc:"One for each family. Node N has 10.244.N.0/24 and fd00:10:244:N::/64."`
	Sysctls        map[string]string `json:"sysctls" doc:"Kernel settings by dotted name, such as net.netfilter.nf_conntrack_tcp_be_liberal."`
	Listen         []Listener        `json:"listen" doc:"Processes of the node itself: \"tcp 22\", \"udp 127.0.0.1:53\". None if not given."`
	KubeProxy      KubeProxy         `json:"kubeProxy" doc:"KubeProxyConfiguration fields of this node, laid over those of the scenario."`
}

// Pod is a pod with its own network.
type Pod struct {
	document.Located
	Name      string       `json:"name" required:"true" doc:"The name by which steps call it."`
	Node      string       `json:"node" required:"true" doc:"The node that it runs on."`
	Addresses []netip.Addr `json:"addresses" doc:"One for each family. The pod at place N of the list has the address N+99 (the first one 100) of its node's podCIDRs."`
	Listen    []Listener   `json:"listen" doc:"The ports that it listens on. Every port if not given; [] for none."`
	// Object is the Pod object that it is the pod of, as it was when the pod began; nil for one of the topology alone.
	Object *corev1.Pod `json:"-"`
	// Place is which one it is of all pods that the cluster has ever had, from 1. It names its node's device to it.
	Place int `json:"-"`
}

// Machine is a machine outside of the cluster, behind the router.
type Machine struct {
	document.Located
	Name      string       `json:"name" required:"true" doc:"The name by which steps call it."`
	Addresses []netip.Addr `json:"addresses" required:"true" doc:"Its addresses. One in the nodes' own network (192.168.0.0/24, 2001:db8::/64) makes it their neighbour."`
	Listen    []Listener   `json:"listen" doc:"The ports that it listens on. Every port if not given; [] for none."`
}

// Listener is a socket that answers: a protocol, an address (none is every
// address of its host) and a port.
type Listener struct {
	Proto string
	Addr  netip.Addr
	Port  uint16
}

// UnmarshalText reads "tcp 22", "udp 127.0.0.1:53", "tcp [::1]:80".
func (l *Listener) UnmarshalText(text []byte) error {
	proto, rest, _ := strings.Cut(string(text), " ")
	if err := checkProto(proto); err != nil {
		return err
	}
	l.Proto = proto
	if port, err := strconv.ParseUint(rest, 10, 16); err == nil && port > 0 {
		l.Port = uint16(port)
		return nil
	}
	ap, err := netip.ParseAddrPort(rest)
	if err != nil || ap.Port() == 0 {
		return fmt.Errorf("want PROTOCOL PORT or PROTOCOL ADDRESS:PORT, such as \"tcp 22\"")
	}
	l.Addr, l.Port = ap.Addr(), ap.Port()
	return nil
}

// String prints the listener as it is read.
func (l Listener) String() string {
	if l.Addr.IsValid() {
		return l.Proto + " " + netip.AddrPortFrom(l.Addr, l.Port).String()
	}
	return fmt.Sprintf("%s %d", l.Proto, l.Port)
}

// MarshalText is the listener as it is read.
func (l Listener) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func checkProto(proto string) error {
	switch proto {
	case "tcp", "udp", "sctp":
		return nil
	}
	return fmt.Errorf("unknown protocol %q (want tcp, udp or sctp)", proto)
}
