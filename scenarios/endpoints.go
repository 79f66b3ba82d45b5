package scenarios

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/internal/document"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// endpointPods makes a pod behind every endpoint that the scenario ever has.
func (r *resolver) endpointPods(s *Scenario) {
	started := startedFirst(s)
	for _, o := range r.slicesEver(s) {
		slice := o.Object.(*discoveryv1.EndpointSlice)
		if slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				std, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(address))
				if a := std.Unmap(); !started[a] {
					r.endpoint(o, slice, endpoint.NodeName, a)
				}
			}
		}
	}
}

// startedFirst are the addresses of pods that a step starts, where no step before it stops what has had them: nothing has them until then.
func startedFirst(s *Scenario) map[netip.Addr]bool {
	first, stopped := map[netip.Addr]bool{}, map[string]bool{}
	for i := range s.Steps {
		for _, name := range s.Steps[i].Stop {
			stopped[name] = true
		}
		for _, pod := range s.Steps[i].Start {
			for _, a := range pod.Addresses {
				first[a] = first[a] || !stopped[a.String()]
			}
		}
		for _, o := range s.Steps[i].Apply {
			for _, a := range podAddresses(o) {
				first[a] = first[a] || !stopped[a.String()]
			}
		}
	}
	return first
}

func (r *resolver) endpoint(o manifest.Object, slice *discoveryv1.EndpointSlice, nodeName *string, a netip.Addr) {
	c := &r.cluster
	if node := c.nodeWith(a); node != nil {
		listenOn(node, a, slice.Ports)
		return
	}
	if r.owner(a) != "" || !c.IPFamily.has(a) {
		return
	}
	switch {
	case nodeName != nil && c.Node(*nodeName) == nil:
		r.errorf(o.Pos, "the endpoint %s is on the node %q, which the topology does not have%s",
			a, *nodeName, document.Suggest(*nodeName, c.nodeNames()))
	case nodeName != nil:
		r.addPod(Pod{Name: a.String(), Node: *nodeName, Addresses: []netip.Addr{a}})
	default:
		r.byAddress(a)
	}
}

// listenOn gives a node the processes behind endpoints that are the node itself.
func listenOn(node *Node, a netip.Addr, ports []discoveryv1.EndpointPort) {
	for _, p := range ports {
		if p.Port == nil {
			continue
		}
		proto := map[corev1.Protocol]string{corev1.ProtocolTCP: "tcp", corev1.ProtocolUDP: "udp", corev1.ProtocolSCTP: "sctp"}[*p.Protocol]
		l := Listener{Proto: proto, Addr: a, Port: uint16(*p.Port)}
		if !slices.Contains(node.Listen, l) {
			node.Listen = append(slices.Clip(node.Listen), l) // the list is the file's
		}
	}
}

// clients makes the machines that steps name by an address that nothing has yet.
func (r *resolver) clients(s *Scenario) {
	started := startedFirst(s)
	connections := s.start().allConnections()
	for i := range s.Steps {
		connections = append(connections, s.Steps[i].allConnections()...)
	}
	for _, c := range connections {
		if a, err := netip.ParseAddr(c.From); err == nil && r.owner(a) == "" && r.cluster.IPFamily.has(a) && !started[a] {
			r.byAddress(a)
		}
	}
}

// byAddress makes what an address must be: a pod if a node's podCIDR holds it,
// otherwise a machine outside.
func (r *resolver) byAddress(a netip.Addr) {
	c := &r.cluster
	for _, node := range c.Nodes {
		for _, cidr := range node.PodCIDRs {
			if cidr.Contains(a) {
				r.addPod(Pod{Name: a.String(), Node: node.Name, Addresses: []netip.Addr{a}})
				return
			}
		}
	}
	c.Outside = append(c.Outside, Machine{Name: a.String(), Addresses: []netip.Addr{a}})
	r.note(a.String(), []netip.Addr{a})
}
