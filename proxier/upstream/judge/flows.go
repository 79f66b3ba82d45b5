package judge

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// flows are the UDP connections that clients have made so far: to every address and port that
// a service has had, by each endpoint that it had then, and untranslated ones where it had none.
type flows map[v1.IPFamily]map[conntrack.Entry]bool

// flowClient makes the connections.
var flowClient = map[v1.IPFamily]netip.Addr{
	v1.IPv4Protocol: netip.MustParseAddr("10.244.1.12"), v1.IPv6Protocol: netip.MustParseAddr("fd00:10:244:1::c"),
}

// foreignMachine is no address of the node, though some client may use the port of a node port there.
var foreignMachine = map[v1.IPFamily]netip.Addr{
	v1.IPv4Protocol: netip.MustParseAddr("192.0.2.177"), v1.IPv6Protocol: netip.MustParseAddr("2001:db8:77::77"),
}

// grow adds the connections that clients make while the API holds the objects.
func (f flows) grow(objects *cases.Objects, family v1.IPFamily) {
	if f[family] == nil {
		f[family] = map[conntrack.Entry]bool{}
	}
	for _, service := range objects.SortedServices() {
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			if port.Protocol != v1.ProtocolUDP {
				continue
			}
			backends := backendsOf(objects, service, port, family)
			for _, to := range frontendsOf(service, port, family) {
				f.add(family, to, backends)
			}
			for _, to := range balancersOf(service, port, family) {
				f.add(family, to, nil)
			}
			if port.NodePort != 0 && isOf(service, family) {
				f.add(family, netip.AddrPortFrom(foreignMachine[family], uint16(port.NodePort)), nil)
			}
		}
	}
}

func (f flows) add(family v1.IPFamily, to netip.AddrPort, backends []netip.AddrPort) {
	if len(backends) == 0 {
		backends = []netip.AddrPort{to}
	}
	client := netip.AddrPortFrom(flowClient[family], 40000)
	for _, by := range backends {
		f[family][conntrack.Entry{
			Protocol: uint8(inet.UDP),
			Original: conntrack.Tuple{Src: client, Dst: to}, Reply: conntrack.Tuple{Src: by, Dst: client},
		}] = true
	}
}

// entries are the connections in a fixed order.
func (f flows) entries(family v1.IPFamily) []conntrack.Entry {
	return slices.SortedFunc(maps.Keys(f[family]), func(a, b conntrack.Entry) int {
		return cmp.Or(a.Original.Dst.Compare(b.Original.Dst), a.Reply.Src.Compare(b.Reply.Src))
	})
}

// frontendsOf are the addresses and ports at which a service port is called: none in a family in which the service has no cluster IP.
func frontendsOf(service *v1.Service, port *v1.ServicePort, family v1.IPFamily) []netip.AddrPort {
	if !isOf(service, family) {
		return nil
	}
	c := claims{}
	c.addPort(service, port, family)
	var out []netip.AddrPort
	for d, n := range c {
		if n > 0 {
			out = append(out, netip.AddrPortFrom(d.addr, d.port))
		}
	}
	return out
}

// balancersOf are the addresses and ports of a service port at which a load balancer answers itself.
func balancersOf(service *v1.Service, port *v1.ServicePort, family v1.IPFamily) []netip.AddrPort {
	var out []netip.AddrPort
	for i := range service.Status.LoadBalancer.Ingress {
		ingress := &service.Status.LoadBalancer.Ingress[i]
		if addr := parse(ingress.IP); addr.IsValid() && addr.Is6() == (family == v1.IPv6Protocol) && !isVIP(ingress) {
			out = append(out, netip.AddrPortFrom(addr, uint16(port.Port)))
		}
	}
	return out
}

// isVIP says whether an address of a load balancer is a service's on the node: so were all before KEP-1860.
func isVIP(ingress *v1.LoadBalancerIngress) bool {
	return ingress.IPMode == nil || *ingress.IPMode == v1.LoadBalancerIPModeVIP
}

// isOf says whether a service has a cluster IP of a family. One of before dual-stack names none of its families.
func isOf(service *v1.Service, family v1.IPFamily) bool {
	if len(service.Spec.IPFamilies) == 0 {
		addr := parse(service.Spec.ClusterIP)
		return addr.IsValid() && addr.Is6() == (family == v1.IPv6Protocol)
	}
	return slices.Contains(service.Spec.IPFamilies, family)
}

// backendsOf are the endpoints of a service port that serve, in every slice that has them and that both proxiers follow.
func backendsOf(objects *cases.Objects, service *v1.Service, port *v1.ServicePort, family v1.IPFamily) []netip.AddrPort {
	var out, others []netip.AddrPort
	for _, slice := range objects.SortedSlices() {
		if !peers.BothFollow(slice) {
			continue
		}
		owner := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discovery.LabelServiceName]}
		if owner != (types.NamespacedName{Namespace: service.Namespace, Name: service.Name}) || v1.IPFamily(slice.AddressType) != family {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name == nil || *p.Name != port.Name || *p.Protocol != port.Protocol {
				continue
			}
			for _, e := range slice.Endpoints {
				at := netip.AddrPortFrom(parse(e.Addresses[0]), uint16(*p.Port))
				switch {
				case !at.Addr().IsValid():
				case e.Conditions.Serving == nil || *e.Conditions.Serving:
					out = append(out, at)
				default:
					others = append(others, at)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(at netip.AddrPort) bool { return slices.Contains(others, at) })
}

// giveFlows lets clients make connections, and has both nodes know all of them.
func (r *run) giveFlows() {
	for _, family := range peers.Families {
		entries := r.flows.entries(family)
		r.ours.Flows().Set(family, entries)
		r.theirs.Flows().Set(family, entries)
	}
}

// compareFlows compares which connections were deleted. Those that ours has deleted are gone: what kube-proxy deletes may be chance.
func (r *run) compareFlows(family v1.IPFamily) []*Difference {
	ours, theirs := deletedBy(r.ours, family), deletedBy(r.theirs, family)
	var differences []*Difference
	entries := r.flows.entries(family)
	r.report.Flows += len(entries)
	for _, e := range entries {
		if ours[e] != theirs[e] {
			differences = append(differences, &Difference{
				Kind: "conntrack", where: fmt.Sprintf("%s by %s", e.Original.Dst, e.Reply.Src),
				ours: []string{deletes(ours[e])}, theirs: []string{deletes(theirs[e])}, entry: e,
			})
		}
	}
	for e := range ours {
		delete(r.flows[family], e)
	}
	r.report.Deleted += len(ours)
	r.flows.grow(r.objects, family)
	return differences
}

func deletedBy(s side, family v1.IPFamily) map[conntrack.Entry]bool {
	out := map[conntrack.Entry]bool{}
	for _, e := range s.Flows().Deleted(family) {
		out[e] = true
	}
	return out
}

func deletes(is bool) string {
	if is {
		return "deleted"
	}
	return "kept"
}

// served says whether a UDP service port is reached at an address and port, and whether it has an endpoint that serves.
func (r *run) served(at netip.AddrPort, family v1.IPFamily) (claimed int, serving bool) {
	for _, service := range r.objects.SortedServices() {
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			if !peers.FollowsService(service) || port.Protocol != v1.ProtocolUDP || !slices.Contains(frontendsOf(service, port, family), at) {
				continue
			}
			claimed++
			serving = serving || len(backendsOf(r.objects, service, port, family)) > 0
		}
	}
	return claimed, serving
}
