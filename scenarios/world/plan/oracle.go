package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

const sysctlLiberal = "net.netfilter.nf_conntrack_tcp_be_liberal"

// Oracle is the cluster as the oracle judges it, with the objects that the API holds,
// those of the nodes among them. Addresses of the nodes' devices are in it that the scenario does not name.
func (p *Plan) Oracle(objects []manifest.Object) *oracle.Cluster {
	out := &oracle.Cluster{Underlay: p.cluster.Underlay}
	nodes := map[string]*corev1.Node{}
	for _, o := range objects {
		switch o := o.Object.(type) {
		case *corev1.Service:
			out.Services = append(out.Services, o)
		case *discoveryv1.EndpointSlice:
			out.Slices = append(out.Slices, o)
		case *corev1.Node:
			nodes[o.Name] = o
		case *networkingv1.ServiceCIDR:
			out.ServiceCIDRs = append(out.ServiceCIDRs, oracle.Ranges(o.Spec.CIDRs)...)
		}
	}
	for i := range p.cluster.Nodes {
		out.Nodes = append(out.Nodes, p.oracleNode(&p.cluster.Nodes[i], nodes))
	}
	for i := range p.cluster.Pods {
		pod := &p.cluster.Pods[i]
		out.Pods = append(out.Pods, oracle.Pod{
			Name: pod.Name, Node: pod.Node, Addresses: pod.Addresses, Listen: socketsOf(pod.Listen), Device: podDevice(pod),
		})
	}
	for i := range p.cluster.Outside {
		m := &p.cluster.Outside[i]
		out.Machines = append(out.Machines, oracle.Machine{
			Name: m.Name, Addresses: m.Addresses, Listen: socketsOf(m.Listen),
		})
	}
	return out
}

func (p *Plan) oracleNode(n *scenarios.Node, objects map[string]*corev1.Node) oracle.Node {
	config := p.cluster.Configs[n.Name]
	node := oracle.Node{
		Name: n.Name, PodCIDRs: n.PodCIDRs, Object: objects[n.Name], Config: config, Listen: sockets(n.Listen),
		Liberal: n.Sysctls[sysctlLiberal] == "1" || config.Conntrack.TCPBeLiberal,
	}
	for i, family := range []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6} {
		var known bool
		node.Filter[i], known = filterOf(p.cluster.Preload, n.Name, family)
		node.Filters = node.Filters || !known
	}
	for _, d := range p.Host(n.Name).Devices {
		for _, a := range d.Addresses {
			if !slices.Contains(node.Addresses, a.Prefix.Addr()) {
				node.Addresses = append(node.Addresses, a.Prefix.Addr())
			}
		}
	}
	return node
}

// socketsOf are the sockets of a pod or machine: not given is everything.
func socketsOf(given []scenarios.Listener) []oracle.Listener {
	if given == nil {
		return []oracle.Listener{{}}
	}
	return sockets(given)
}

func sockets(given []scenarios.Listener) []oracle.Listener {
	var out []oracle.Listener
	for _, l := range given {
		out = append(out, oracle.Listener{Protocol: corev1.Protocol(strings.ToUpper(l.Proto)), Addr: l.Addr, Port: l.Port})
	}
	return out
}
