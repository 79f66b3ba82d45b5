package names

import (
	"cmp"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance/hashed"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Book has the names of a cluster's objects. It is safe for use by several goroutines.
type Book struct {
	services []*corev1.Service
	pods     []pod
	nodes    []*corev1.Node

	owners    map[netip.Addr]string // who has an address: "pod shop/web-1"
	ports     map[place]string      // service ports at an address: "service shop/web:http"
	nodePorts map[place]string      // the same at a port of nodes, which has no address
	endpoints map[place]string      // pods behind endpoints, by their place
	chains    map[string]string     // what a chain was made for
	policies  map[string][]string   // NAMESPACE/NAME of the NetworkPolicies of a name
}

// place is an address and a port of a protocol.
type place struct {
	netip.AddrPort
	proto inet.Proto
}

// pod is a pod, as its object or the target of an endpoint says.
type pod struct {
	name      string // NAMESPACE/NAME
	node      string
	host      bool // it has the node's own network
	addresses []netip.Addr
	ports     []corev1.ContainerPort
}

// New makes the Book of a cluster's objects.
func New(objects []manifest.Object) *Book {
	b := &Book{
		services: manifest.Of[*corev1.Service](objects), nodes: manifest.Of[*corev1.Node](objects),
		owners: map[netip.Addr]string{}, ports: map[place]string{}, nodePorts: map[place]string{}, endpoints: map[place]string{},
		chains: map[string]string{}, policies: map[string][]string{},
	}
	for _, node := range b.nodes {
		b.owns("node "+node.Name, nodeAddresses(node)...)
	}
	for _, service := range b.services {
		b.addService(service)
	}
	for _, p := range manifest.Of[*corev1.Pod](objects) {
		b.addPod(p)
	}
	for _, p := range manifest.Of[*networkingv1.NetworkPolicy](objects) {
		b.addPolicy(p)
	}
	for _, slice := range manifest.Of[*discoveryv1.EndpointSlice](objects) {
		b.addSlice(slice)
	}
	return b
}

// owns notes who has addresses, unless somebody has them already.
func (b *Book) owns(name string, addresses ...netip.Addr) {
	for _, a := range addresses {
		if b.owners[a] == "" {
			b.owners[a] = name
		}
	}
}

// parse reads an address as the API has it; unset if it is none.
func parse(text string) netip.Addr {
	a, _ := netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return a.Unmap()
}

// addressesOf reads those that are addresses.
func addressesOf(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		if a := parse(text); a.IsValid() {
			out = append(out, a)
		}
	}
	return out
}

// nodeAddresses are a node's, the internal ones first.
func nodeAddresses(node *corev1.Node) []netip.Addr {
	var internal, other []netip.Addr
	for _, given := range node.Status.Addresses {
		if a := parse(given.Address); a.IsValid() && given.Type == corev1.NodeInternalIP {
			internal = append(internal, a)
		} else if a.IsValid() {
			other = append(other, a)
		}
	}
	return append(internal, other...)
}

// clusterIPs are a service's, the primary one first; none of a headless service.
func clusterIPs(service *corev1.Service) []netip.Addr {
	if len(service.Spec.ClusterIPs) > 0 {
		return addressesOf(service.Spec.ClusterIPs...)
	}
	return addressesOf(service.Spec.ClusterIP)
}

// portName is "NAMESPACE/NAME:PORT", or "NAMESPACE/NAME" where the port has no name.
func portName(namespace, name, port string) string {
	full := namespace + "/" + name
	if port != "" {
		full += ":" + port
	}
	return full
}

// protoOf is a protocol of the API as packets have it.
func protoOf(protocol corev1.Protocol) inet.Proto {
	switch protocol {
	case corev1.ProtocolUDP:
		return inet.UDP
	case corev1.ProtocolSCTP:
		return inet.SCTP
	}
	return inet.TCP
}

func (b *Book) addService(s *corev1.Service) {
	addresses := append(clusterIPs(s), addressesOf(s.Spec.ExternalIPs...)...)
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		addresses = append(addresses, addressesOf(ingress.IP)...)
	}
	b.owns("service "+portName(s.Namespace, s.Name, ""), addresses...)
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		proto, name := protoOf(p.Protocol), "service "+portName(s.Namespace, s.Name, p.Name)
		for _, a := range addresses {
			note(b.ports, place{netip.AddrPortFrom(a, uint16(p.Port)), proto}, name)
		}
		if p.NodePort != 0 {
			note(b.nodePorts, place{netip.AddrPortFrom(netip.Addr{}, uint16(p.NodePort)), proto}, name)
		}
		for _, chain := range hashed.ServiceChains(provenance.ServicePort(portName(s.Namespace, s.Name, p.Name)), proto.String()) {
			b.chains[chain] = name
		}
	}
}

// addPolicy notes a policy, and the chains that are known to be for it.
func (b *Book) addPolicy(p *networkingv1.NetworkPolicy) {
	name := portName(p.Namespace, p.Name, "")
	b.policies[p.Name] = append(b.policies[p.Name], name)
	for _, chain := range hashed.PolicyChains(p.Namespace, p.Name) {
		b.chains[chain] = "policy " + name
	}
}

// note keeps the first name of something.
func note[K comparable](names map[K]string, key K, name string) {
	if names[key] == "" {
		names[key] = name
	}
}

func (b *Book) addPod(p *corev1.Pod) {
	texts := []string{p.Status.PodIP}
	if len(p.Status.PodIPs) > 0 {
		texts = nil
		for _, ip := range p.Status.PodIPs {
			texts = append(texts, ip.IP)
		}
	}
	added := pod{name: p.Namespace + "/" + p.Name, node: p.Spec.NodeName, host: p.Spec.HostNetwork, addresses: addressesOf(texts...)}
	for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range containers {
			added.ports = append(added.ports, containers[i].Ports...)
		}
	}
	b.pods = append(b.pods, added)
	if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed { // their addresses may be others' by now
		b.owns("pod "+added.name, added.addresses...)
	}
}

// addSlice notes the endpoints of a slice, by the pods that they say to be.
func (b *Book) addSlice(s *discoveryv1.EndpointSlice) {
	service := s.Labels[discoveryv1.LabelServiceName]
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		name := ""
		if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
			name = cmp.Or(e.TargetRef.Namespace, s.Namespace) + "/" + e.TargetRef.Name
			b.addTarget(name, e)
		}
		for _, a := range addressesOf(e.Addresses...) {
			for j := range s.Ports {
				b.addEndpoint(s.Namespace, service, &s.Ports[j], a, name)
			}
			b.owns("endpoint of "+portName(s.Namespace, service, ""), a)
		}
	}
}

// addTarget notes a pod of which nothing but an endpoint is known.
func (b *Book) addTarget(name string, e *discoveryv1.Endpoint) {
	b.owns("pod "+name, addressesOf(e.Addresses...)...)
	node := ""
	if e.NodeName != nil {
		node = *e.NodeName
	}
	for i := range b.pods {
		if b.pods[i].name != name {
			continue
		}
		for _, a := range addressesOf(e.Addresses...) {
			if !contains(b.pods[i].addresses, a) {
				b.pods[i].addresses = append(b.pods[i].addresses, a)
			}
		}
		return
	}
	b.pods = append(b.pods, pod{name: name, node: node, addresses: addressesOf(e.Addresses...)})
}

func (b *Book) addEndpoint(namespace, service string, p *discoveryv1.EndpointPort, a netip.Addr, pod string) {
	if p.Port == nil {
		return
	}
	port, proto := "", inet.TCP
	if p.Name != nil {
		port = *p.Name
	}
	if p.Protocol != nil {
		proto = protoOf(*p.Protocol)
	}
	at := netip.AddrPortFrom(a, uint16(*p.Port))
	name := "endpoint " + at.String() + " of " + portName(namespace, service, port)
	if pod != "" {
		name = "pod " + pod
		note(b.endpoints, place{at, proto}, name)
	}
	b.chains[hashed.EndpointChain(provenance.ServicePort(portName(namespace, service, port)), proto.String(), at)] = name
}

func contains(list []netip.Addr, a netip.Addr) bool {
	for _, own := range list {
		if own == a {
			return true
		}
	}
	return false
}

// Address names who has an address: "pod shop/web-1", "service shop/web", "node worker"; empty if nobody is known.
func (b *Book) Address(a netip.Addr) string { return b.owners[a] }

// Destination names what is at an address and a port: "service shop/web:http" at a cluster IP, an external IP, an address of a load
// balancer and a node port, otherwise who has the address.
func (b *Book) Destination(proto inet.Proto, at netip.AddrPort) string {
	if name := b.ports[place{at, proto}]; name != "" {
		return name
	}
	owner := b.owners[at.Addr()]
	if strings.HasPrefix(owner, "node ") || at.Addr().IsLoopback() {
		if name := b.nodePorts[place{netip.AddrPortFrom(netip.Addr{}, at.Port()), proto}]; name != "" {
			return name + " (node port)"
		}
	}
	if name := b.endpoints[place{at, proto}]; name != "" {
		return name
	}
	return owner
}
