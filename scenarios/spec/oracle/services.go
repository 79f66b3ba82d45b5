package oracle

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// labelProxyName and labelHeadless take a Service or an EndpointSlice away from the default service proxy.
const (
	labelProxyName = "service.kubernetes.io/service-proxy-name"
	labelHeadless  = corev1.IsHeadlessService
)

// place is where packets go to: an address and a port of a protocol.
type place struct {
	netip.AddrPort
	protocol uint8
}

// portPlace is a port on nodes.
type portPlace struct {
	port     uint16
	protocol uint8
	v6       bool
}

// The protocols as places have them; 0 has no ports.
func protocolNumber(p corev1.Protocol) uint8 {
	switch p {
	case corev1.ProtocolTCP:
		return 1
	case corev1.ProtocolUDP:
		return 2
	case corev1.ProtocolSCTP:
		return 3
	}
	return 0
}

// destination is a kind of place that a service port is served at.
type destination uint8

const (
	atClusterIP destination = iota
	atExternalIP
	atLoadBalancerIP
	atNodePort
)

// served is a service port at a place.
type served struct {
	port *port
	kind destination
	// doubtful says that the object is one which the API refuses, or leaves over from before a change: it may be served or not.
	doubtful bool
}

// port is a port of a service in one family.
type port struct {
	service  types.NamespacedName
	name     string
	protocol corev1.Protocol
	v6       bool
	number   uint16

	clusterIP     netip.Addr
	externalIPs   []netip.Addr
	balancers     []netip.Addr // the addresses of load balancers that the nodes serve
	nodePort      uint16
	healthPort    uint16
	internalLocal bool
	externalLocal bool
	limited       bool // to ranges
	ranges        []netip.Prefix
	affinity      time.Duration // 0: none
	endpoints     []endpoint
	slices        []*discoveryv1.EndpointSlice // all of the service's
	notes         []*Clause
	doubt         bool // an endpoint is there twice, and differs
	open          bool // an endpoint is itself a destination
	sets          []usable
}

// services are what the API knows, as packets ask for it.
type services struct {
	ports     []*port
	places    map[place][]served
	nodePorts map[portPlace][]served
	// health are the ports of health checks, in the families of their services.
	health map[portPlace]bool
	// clusterIPs are the cluster IPs that nodes serve. ranges are the ranges of the ServiceCIDRs, from which the API takes cluster IPs.
	clusterIPs map[netip.Addr]bool
	ranges     []netip.Prefix
	// left are places that look like those of a service and are not served, and why.
	left map[place]*Clause
}

func newServices(c *Cluster) *services {
	s := &services{
		places: make(map[place][]served, 2*len(c.Services)), nodePorts: map[portPlace][]served{},
		health: map[portPlace]bool{}, left: map[place]*Clause{}, clusterIPs: make(map[netip.Addr]bool, len(c.Services)), ranges: c.ServiceCIDRs,
	}
	slices := make(map[types.NamespacedName][]*discoveryv1.EndpointSlice, len(c.Services))
	for _, slice := range c.Slices {
		name := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		slices[name] = append(slices[name], slice)
	}
	for _, service := range c.Services {
		s.add(service, slices[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}])
	}
	for _, p := range s.ports {
		p.open = s.endpointIsDestination(p)
	}
	return s
}

// add adds a service with its slices.
func (s *services) add(service *corev1.Service, slices []*discoveryv1.EndpointSlice) {
	if why := notServed(service); why != nil {
		s.leave(service, why)
		return
	}
	for i := range service.Spec.Ports {
		for _, v6 := range []bool{false, true} {
			if p := newPort(service, &service.Spec.Ports[i], v6); p != nil {
				p.join(slices)
				s.ports = append(s.ports, p)
				s.serve(service, p)
			} else {
				s.leaveFamily(service, &service.Spec.Ports[i], v6)
			}
		}
	}
}

// notServed says why a service has nothing to be served; nil if it has.
func notServed(service *corev1.Service) *Clause {
	if _, other := service.Labels[labelProxyName]; other {
		return otherProxy
	}
	if _, headless := service.Labels[labelHeadless]; headless {
		return headlessLabel
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		return noVirtualIP
	}
	return nil
}

// leave notes the places that a service would have.
func (s *services) leave(service *corev1.Service, why *Clause) {
	for i := range service.Spec.Ports {
		number, protocol := uint16(service.Spec.Ports[i].Port), protocolNumber(service.Spec.Ports[i].Protocol)
		for _, text := range append(append(clusterIPs(service), service.Spec.ExternalIPs...), ingressIPs(service)...) {
			if a := address(text); a.IsValid() {
				s.left[place{netip.AddrPortFrom(a, number), protocol}] = why
			}
		}
	}
}

// leaveFamily notes the places of the family that a service does not have.
func (s *services) leaveFamily(service *corev1.Service, sp *corev1.ServicePort, v6 bool) {
	for _, text := range append(ingressIPs(service), service.Spec.ExternalIPs...) {
		if a := address(text); a.IsValid() && a.Is6() == v6 {
			s.left[place{netip.AddrPortFrom(a, uint16(sp.Port)), protocolNumber(sp.Protocol)}] = otherFamily
		}
	}
}

func ingressIPs(service *corev1.Service) []string {
	var out []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		out = append(out, ingress.IP)
	}
	return out
}

func clusterIPs(service *corev1.Service) []string {
	if len(service.Spec.ClusterIPs) > 0 {
		return append([]string(nil), service.Spec.ClusterIPs...)
	}
	return []string{service.Spec.ClusterIP}
}

// newPort reads a port of a service in a family; nil if the service is not of that family.
func newPort(service *corev1.Service, sp *corev1.ServicePort, v6 bool) *port {
	spec := &service.Spec
	p := &port{
		service: types.NamespacedName{Namespace: service.Namespace, Name: service.Name},
		name:    sp.Name, protocol: sp.Protocol, v6: v6, number: uint16(sp.Port), nodePort: uint16(sp.NodePort),
		externalLocal: spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
	}
	if p.protocol == "" {
		p.protocol = corev1.ProtocolTCP
	}
	for _, text := range clusterIPs(service) {
		if a := address(text); a.IsValid() && a.Is6() == v6 && !p.clusterIP.IsValid() {
			p.clusterIP = a
			p.spelled(text)
		}
	}
	if !p.clusterIP.IsValid() {
		return nil
	}
	p.internalLocal = spec.InternalTrafficPolicy != nil && *spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal
	p.externalIPs = p.ofFamily(spec.ExternalIPs)
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		p.affinity = affinityTimeout(spec)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer && p.externalLocal {
		p.healthPort = uint16(spec.HealthCheckNodePort)
	}
	p.limit(spec.LoadBalancerSourceRanges)
	return p
}

func (p *port) spelled(text string) {
	if spelledOddly(text) {
		p.note(oddSpelling)
	}
}

// ofFamily reads addresses of the port's family.
func (p *port) ofFamily(texts []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		if a := address(text); a.IsValid() && a.Is6() == p.v6 {
			out = append(out, a)
			p.spelled(text)
		}
	}
	return out
}

func affinityTimeout(spec *corev1.ServiceSpec) time.Duration {
	if c := spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		return time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
	}
	return time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second
}

// limit reads the source ranges. A list that holds everything, or nothing of the family, limits nothing.
func (p *port) limit(texts []string) {
	for _, r := range prefixes(texts) {
		if r.Addr().Is6() != p.v6 {
			continue
		}
		if r.Bits() == 0 {
			p.ranges, p.limited = nil, false
			p.note(rangeOfEverything)
			return
		}
		p.ranges, p.limited = append(p.ranges, r), true
	}
	if len(texts) > 0 && !p.limited {
		p.note(rangesOfOtherFamily)
	}
}

func (p *port) note(c *Clause) {
	for _, known := range p.notes {
		if known == c {
			return
		}
	}
	p.notes = append(p.notes, c)
}

// serve notes the places of a port.
func (s *services) serve(service *corev1.Service, p *port) {
	s.at(p.clusterIP, p, atClusterIP, false)
	s.clusterIPs[p.clusterIP] = true
	for _, a := range p.externalIPs {
		s.at(a, p, atExternalIP, false)
	}
	for i := range service.Status.LoadBalancer.Ingress {
		ingress := &service.Status.LoadBalancer.Ingress[i]
		a := address(ingress.IP)
		if !a.IsValid() || a.Is6() != p.v6 {
			continue
		}
		if ingress.IPMode != nil && *ingress.IPMode == corev1.LoadBalancerIPModeProxy {
			s.left[place{netip.AddrPortFrom(a, p.number), protocolNumber(p.protocol)}] = proxyModeBalancer
			continue
		}
		p.spelled(ingress.IP)
		p.balancers = append(p.balancers, a)
		s.at(a, p, atLoadBalancerIP, service.Spec.Type != corev1.ServiceTypeLoadBalancer)
	}
	if p.nodePort != 0 {
		key := portPlace{p.nodePort, protocolNumber(p.protocol), p.v6}
		s.nodePorts[key] = append(s.nodePorts[key], served{p, atNodePort, service.Spec.Type == corev1.ServiceTypeClusterIP})
	}
	if p.healthPort != 0 {
		s.health[portPlace{p.healthPort, protocolNumber(corev1.ProtocolTCP), p.v6}] = true
	}
}

// at notes a place once, though a service may name an address twice.
func (s *services) at(a netip.Addr, p *port, kind destination, doubtful bool) {
	key := place{netip.AddrPortFrom(a, p.number), protocolNumber(p.protocol)}
	for _, known := range s.places[key] {
		if known.port == p && known.kind == kind {
			return
		}
	}
	s.places[key] = append(s.places[key], served{p, kind, doubtful})
}

// endpointIsDestination says whether a packet to an endpoint of the port may be taken for one to a service again, on the endpoint's node.
func (s *services) endpointIsDestination(p *port) bool {
	for i := range p.endpoints {
		key := place{p.endpoints[i].at, protocolNumber(p.protocol)}
		if len(s.places[key]) > 0 || len(s.nodePorts[portPlace{key.Port(), key.protocol, p.v6}]) > 0 {
			return true
		}
	}
	return false
}
