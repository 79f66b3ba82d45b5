package gen

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// labelProxyName makes a service another proxy's (KEP-2447).
const labelProxyName = "service.kubernetes.io/service-proxy-name"

// joinedName is the name of service web and of its port http without what parts them.
const joinedName = "webhttp"

var serviceNames = []string{"web", "dns", "db", "api", "sip", joinedName}

// serviceWithSlices makes a new service and its endpoints.
func (g *generator) serviceWithSlices() []manifest.Object {
	s := g.newService()
	out := []manifest.Object{g.note(object(s))}
	for _, slice := range g.slicesOf(s) {
		out = append(out, g.note(object(slice)))
	}
	return out
}

// newService makes a service of a name that none has, while there is one.
func (g *generator) newService() *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault}}
	names := serviceNames
	if len(g.services) > 0 && g.in(1, 6) {
		names = append([]string{joinedName}, names...)
	}
	for _, s.Name = range names {
		if !slices.ContainsFunc(g.services, func(o *corev1.Service) bool { return sameService(s, o) }) {
			break
		}
	}
	if g.has.Has(SeveralServices) && g.in(1, 10) {
		s.Namespace = "other"
	}
	g.chooseType(s)
	g.chooseFamilies(s)
	g.choosePorts(s)
	g.choosePolicies(s)
	g.chooseAffinity(s)
	g.chooseExternalIPs(s)
	g.chooseBalancer(s)
	if g.has.Has(OtherProxy) && g.in(1, 6) {
		s.Labels = map[string]string{labelProxyName: "another"}
	}
	g.complete(s)
	return s
}

func (g *generator) chooseType(s *corev1.Service) {
	kinds := []weighted[corev1.ServiceType]{{45, corev1.ServiceTypeClusterIP}}
	if g.has.Has(NodePorts) {
		kinds = append(kinds, weighted[corev1.ServiceType]{25, corev1.ServiceTypeNodePort})
	}
	if g.has.Has(LoadBalancers) {
		kinds = append(kinds, weighted[corev1.ServiceType]{25, corev1.ServiceTypeLoadBalancer})
	}
	if g.has.Has(ExternalNames) {
		kinds = append(kinds, weighted[corev1.ServiceType]{8, corev1.ServiceTypeExternalName})
	}
	s.Spec.Type = choose(&g.draw, kinds)
	if s.Spec.Type == corev1.ServiceTypeClusterIP && g.has.Has(Headless) && g.in(1, 4) {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
}

func (g *generator) chooseFamilies(s *corev1.Service) {
	s.Spec.IPFamilies = slices.Clone(g.families)
	if len(g.families) > 1 {
		switch g.below(6) {
		case 2:
			slices.Reverse(s.Spec.IPFamilies)
		case 3, 4:
			s.Spec.IPFamilies = s.Spec.IPFamilies[:1]
		case 5:
			s.Spec.IPFamilies = s.Spec.IPFamilies[1:]
		}
	}
}

func (g *generator) choosePorts(s *corev1.Service) {
	old := s.Spec.Ports
	count := 1
	if g.has.Has(SeveralPorts) {
		count = choose(&g.draw, []weighted[int]{{50, 1}, {35, 2}, {15, 3}})
	}
	protocols := []weighted[corev1.Protocol]{{60, corev1.ProtocolTCP}}
	if g.has.Has(UDP) {
		protocols = append(protocols, weighted[corev1.Protocol]{40, corev1.ProtocolUDP})
	}
	if g.has.Has(SCTP) {
		protocols = append(protocols, weighted[corev1.Protocol]{15, corev1.ProtocolSCTP})
	}
	s.Spec.Ports = nil
	for i := range count {
		p := corev1.ServicePort{
			Name:     []string{"http", "dns", "metrics"}[i],
			Protocol: choose(&g.draw, protocols),
			Port:     choose(&g.draw, []weighted[int32]{{40, 80}, {20, 443}, {20, 53}, {10, 9153}, {5, 1}, {5, 65535}}),
		}
		if p.Port == firstPort && g.somebody(func(o *corev1.Service) bool { return hasNodePort(o, firstPort) }) {
			p.Port = 80 // whose a packet to a node's own address would be is nobody's promise
		}
		p.TargetPort = pick(&g.draw, intstr.FromInt32(8080), intstr.FromString(p.Name))
		taken := slices.ContainsFunc(s.Spec.Ports, func(o corev1.ServicePort) bool { return o.Port == p.Port && o.Protocol == p.Protocol })
		if taken {
			continue
		}
		if i < len(old) && g.in(3, 4) { // node ports stay with their port
			p.NodePort = old[i].NodePort
		}
		s.Spec.Ports = append(s.Spec.Ports, p)
	}
	if len(s.Spec.Ports) == 1 && g.in(1, 2) {
		s.Spec.Ports[0].Name = ""
	}
}

// editPorts takes a port away, adds one or changes one, and leaves the others as they are. A service without ports stays one.
func (g *generator) editPorts(s *corev1.Service) {
	was := slices.Clone(s.Spec.Ports)
	g.choosePorts(s)
	chosen := s.Spec.Ports
	s.Spec.Ports = was
	for i, p := range chosen {
		free := !slices.ContainsFunc(was, func(o corev1.ServicePort) bool {
			return o.Name == p.Name || o.Port == p.Port && o.Protocol == p.Protocol
		})
		switch {
		case i >= len(was) && len(was) > 0 && i > 0 && free && p.Name != "" && was[0].Name != "":
			s.Spec.Ports = append(s.Spec.Ports, p)
			return
		case i > 0 && i < len(was) && g.in(1, 2):
			s.Spec.Ports = was[:i]
			return
		}
	}
	if last := len(was) - 1; last >= 0 {
		was[last].Port = int32(7000 + g.below(2))
	}
}

func (g *generator) choosePolicies(s *corev1.Service) {
	cluster, local := corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	if g.has.Has(ExternalLocal) && g.in(2, 3) {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	s.Spec.InternalTrafficPolicy = &cluster
	if g.has.Has(InternalLocal) && g.in(1, 3) {
		s.Spec.InternalTrafficPolicy = &local
	}
	s.Spec.PublishNotReadyAddresses = g.has.Has(NotReady) && g.in(1, 12)
}

func (g *generator) chooseAffinity(s *corev1.Service) {
	s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	if g.has.Has(Affinity) && g.in(1, 2) {
		seconds := choose(&g.draw, []weighted[int32]{{60, 10800}, {20, 30}, {10, 1}, {10, 86400}})
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}

func (g *generator) chooseExternalIPs(s *corev1.Service) {
	s.Spec.ExternalIPs = nil
	if !g.has.Has(ExternalIPs) || g.in(1, 2) {
		return
	}
	for range choose(&g.draw, []weighted[int]{{70, 1}, {30, 2}}) {
		family := pick(&g.draw, g.families...)
		g.lastIP++
		ip := externalIP(family, 20+g.lastIP%200)
		switch {
		case g.has.Has(Contested) && g.in(1, 3):
			ip = externalIP(family, 9)
		case g.has.Has(Contested) && g.in(1, 4):
			ip = nodeAddress(family, 1)
		case g.has.Has(OddSpelling) && g.in(1, 3):
			ip = odd(ip)
		}
		if !slices.Contains(s.Spec.ExternalIPs, ip) {
			s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, ip)
		}
	}
}

func (g *generator) chooseBalancer(s *corev1.Service) {
	allocate := !g.in(1, 5)
	s.Spec.AllocateLoadBalancerNodePorts = &allocate
	s.Spec.LoadBalancerSourceRanges = nil
	if g.has.Has(SourceRanges) && g.in(2, 3) {
		s.Spec.LoadBalancerSourceRanges = g.sourceRanges()
	}
	s.Status.LoadBalancer.Ingress = nil
	for range choose(&g.draw, []weighted[int]{{75, 1}, {15, 2}, {10, 0}}) {
		family := pick(&g.draw, g.families...)
		g.lastIP++
		ingress := corev1.LoadBalancerIngress{IP: balancerIP(family, 20+g.lastIP%200)}
		switch {
		case g.has.Has(Contested) && g.in(1, 4):
			ingress.IP = balancerIP(family, 9)
		case g.has.Has(ExtraAddresses) && g.in(1, 2): // one that a node has itself
			ingress.IP = extraAddress(family, g.nodeOfExtraAddress().number)
			if len(s.Spec.LoadBalancerSourceRanges) > 0 && g.in(1, 2) { // which the nodes are in, and the address is not
				s.Spec.LoadBalancerSourceRanges = []string{neighbourhoods[family]}
			}
		case g.has.Has(OddSpelling) && g.in(1, 3):
			ingress.IP = odd(ingress.IP)
		case g.in(1, 15):
			ingress = corev1.LoadBalancerIngress{Hostname: "balancer.example.com"}
		}
		if ingress.IP != "" && g.in(2, 3) {
			mode := corev1.LoadBalancerIPModeVIP
			if g.has.Has(ProxyMode) && g.in(1, 2) {
				mode = corev1.LoadBalancerIPModeProxy
			}
			ingress.IPMode = &mode
		}
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, ingress)
	}
}

// nodeOfExtraAddress is a node with an address beside its main one, any if there is none.
func (g *generator) nodeOfExtraAddress() node {
	var has []node
	for i, n := range g.nodes {
		if len(g.out.Topology.Nodes[i].ExtraAddresses) > 0 {
			has = append(has, n)
		}
	}
	if len(has) == 0 {
		return g.anyNode()
	}
	return pick(&g.draw, has...)
}

// sourceRanges hold some of the machines that every scenario has.
func (g *generator) sourceRanges() []string {
	v4 := []string{"203.0.113.0/24", "203.0.113.7/32", "198.51.100.0/24", "192.168.0.0/24", "10.244.0.0/16", "10.0.0.0/8", "192.168.0.2/32", "0.0.0.0/0", "128.0.0.0/1"}
	v6 := []string{"2001:db8:9::/64", "2001:db8:9::7/128", "2001:db8:ee::/64", "2001:db8::/64", "fd00:10:244::/56", "fd00::/8", "2001:db8::2/128", "::/0", "::/1"}
	var out []string
	for range choose(&g.draw, []weighted[int]{{60, 1}, {30, 2}, {10, 3}}) {
		i := choose(&g.draw, []weighted[int]{{25, 0}, {10, 1}, {15, 2}, {25, 3}, {10, 4}, {5, 5}, {10, 6}, {5, 7}, {5, 8}})
		one := v4[i]
		if pick(&g.draw, g.families...) == corev1.IPv6Protocol {
			one = v6[i]
		}
		if g.has.Has(OddSpelling) && g.in(1, 3) {
			one = g.oddRange(one)
		}
		out = append(out, one)
	}
	return out
}

// oddRange spells a range as the API lets it through.
func (g *generator) oddRange(text string) string {
	if p := netip.MustParsePrefix(text); p.Addr().Is4() && p.Bits() > 0 && g.in(1, 2) {
		return fmt.Sprintf("::ffff:%s/%d", p.Addr(), 96+p.Bits())
	}
	return " " + text + " "
}

// complete makes the service one that an API server would hand out: what its type
// does not have is cleared, what is missing is allocated or defaulted.
func (g *generator) complete(s *corev1.Service) {
	g.completeIPs(s)
	spec := &s.Spec
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if !balanced {
		spec.AllocateLoadBalancerNodePorts, spec.LoadBalancerSourceRanges, s.Status.LoadBalancer.Ingress = nil, nil, nil
	}
	external := balanced || spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	if !external {
		spec.ExternalTrafficPolicy = ""
	} else if spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		spec.InternalTrafficPolicy = nil
	}
	if !balanced || spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = 0
	} else if spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = g.freePort(s)
	}
	g.completeNodePorts(s)
}

func (g *generator) completeNodePorts(s *corev1.Service) {
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		switch {
		case s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer,
			s.Spec.AllocateLoadBalancerNodePorts != nil && !*s.Spec.AllocateLoadBalancerNodePorts:
			p.NodePort = 0
		case p.NodePort == 0:
			p.NodePort = g.freePort(s)
		}
	}
}

func (g *generator) completeIPs(s *corev1.Service) {
	spec := &s.Spec
	switch {
	case spec.Type == corev1.ServiceTypeExternalName:
		spec.ExternalName, spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.ExternalIPs = "example.com", "", nil, nil, nil
		spec.Ports = nil
		return
	case spec.ClusterIP == corev1.ClusterIPNone:
		spec.ExternalName, spec.Type, spec.ClusterIPs = "", corev1.ServiceTypeClusterIP, []string{corev1.ClusterIPNone}
		return
	case spec.IPFamilies == nil:
		spec.IPFamilies = slices.Clone(g.families)
	}
	spec.ExternalName = ""
	if len(spec.ClusterIPs) == len(spec.IPFamilies) {
		return
	}
	spec.ClusterIPs = nil
	for _, family := range spec.IPFamilies {
		spec.ClusterIPs = append(spec.ClusterIPs, g.clusterIP(family))
	}
	spec.ClusterIP = spec.ClusterIPs[0]
}

// clusterIP allocates an address, or one again that a service had which is deleted.
func (g *generator) clusterIP(family corev1.IPFamily) string {
	for _, s := range g.deleted {
		for i, ip := range s.Spec.ClusterIPs {
			if i < len(s.Spec.IPFamilies) && s.Spec.IPFamilies[i] == family && ip != corev1.ClusterIPNone && !g.taken(ip) && g.in(1, 2) {
				return ip
			}
		}
	}
	g.lastIP++
	ip := serviceIP(family, g.lastIP)
	if family == corev1.IPv4Protocol && g.has.Has(OddSpelling) && g.in(1, 3) {
		return odd(ip)
	}
	return ip
}

func serviceIP(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("fd00:30::%x", number)
	}
	return fmt.Sprintf("172.30.%d.%d", number/250, 1+number%250)
}

// taken reports whether a service that is there has the cluster IP.
func (g *generator) taken(ip string) bool {
	return slices.ContainsFunc(g.services, func(s *corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, ip) })
}

// freePort allocates a node port: a new one, or one again that a deleted service had.
func (g *generator) freePort(own *corev1.Service) int32 {
	for _, s := range g.deleted {
		for _, p := range s.Spec.Ports {
			if p.NodePort > 0 && g.isFree(p.NodePort, own) && g.in(1, 2) {
				return p.NodePort
			}
		}
	}
	if g.has.Has(OddSpelling) && g.in(1, 6) && g.isFree(firstPort, own) && !servesFirstPort(own) && !g.somebody(servesFirstPort) {
		return firstPort
	}
	g.lastPort++
	return g.lastPort
}

// firstPort is a node port where the API server gives out all that there are.
const firstPort = 1

// isFree reports whether no service has a node port, nor one that is being made.
func (g *generator) isFree(port int32, own *corev1.Service) bool {
	return !hasNodePort(own, port) && !slices.ContainsFunc(g.services, func(s *corev1.Service) bool { return hasNodePort(s, port) })
}

// somebody reports whether something is true of a service that is there, or may come back.
func (g *generator) somebody(is func(*corev1.Service) bool) bool {
	return slices.ContainsFunc(g.services, is) || slices.ContainsFunc(g.deleted, is)
}

func servesFirstPort(s *corev1.Service) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == firstPort })
}

func hasNodePort(s *corev1.Service, port int32) bool {
	return s.Spec.HealthCheckNodePort == port || slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == port })
}

func externalIP(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8:e::%x", number)
	}
	return fmt.Sprintf("198.51.100.%d", number)
}

func balancerIP(f corev1.IPFamily, number int) string {
	if f == corev1.IPv6Protocol {
		return fmt.Sprintf("2001:db8:f::%x", number)
	}
	return fmt.Sprintf("203.0.113.%d", number)
}
