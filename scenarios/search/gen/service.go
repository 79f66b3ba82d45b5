package gen

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// labelProxyName makes a service another proxy's (KEP-2447).
const labelProxyName = "service.kubernetes.io/service-proxy-name"

// joinedName is the name of service web and of its port http without what parts them.
const joinedName = "webhttp"

var serviceNames = []string{"web", "dns", "db", "api", "sip", joinedName}

// serviceMaker makes services, and changes them.
type serviceMaker struct {
	mixture
	cluster *cluster
	numbers *numbers
}

// newService makes a service of a name that none has, while there is one.
func (m *serviceMaker) newService() *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault}}
	names := serviceNames
	if len(m.cluster.services) > 0 && m.in(1, 6) {
		names = append([]string{joinedName}, names...)
	}
	for _, s.Name = range names {
		if !slices.ContainsFunc(m.cluster.services, func(o *corev1.Service) bool { return sameService(s, o) }) {
			break
		}
	}
	if m.has.Has(SeveralServices) && m.in(1, 10) {
		s.Namespace = "other"
	}
	m.chooseType(s)
	m.chooseFamilies(s)
	m.choosePorts(s)
	m.choosePolicies(s)
	m.chooseAffinity(s)
	m.chooseExternalIPs(s)
	m.chooseBalancer(s)
	if m.has.Has(OtherProxy) && m.in(1, 6) {
		s.Labels = map[string]string{labelProxyName: "another"}
	}
	m.complete(s)
	return s
}

func (m *serviceMaker) chooseType(s *corev1.Service) {
	kinds, open := []weighted[corev1.ServiceType]{{45, corev1.ServiceTypeClusterIP}}, 25
	if m.options.Exposed {
		open = 75
	}
	if m.has.Has(NodePorts) {
		kinds = append(kinds, weighted[corev1.ServiceType]{open, corev1.ServiceTypeNodePort})
	}
	if m.has.Has(LoadBalancers) {
		kinds = append(kinds, weighted[corev1.ServiceType]{open, corev1.ServiceTypeLoadBalancer})
	}
	if m.has.Has(ExternalNames) {
		kinds = append(kinds, weighted[corev1.ServiceType]{8, corev1.ServiceTypeExternalName})
	}
	s.Spec.Type = choose(m.draw, kinds)
	if s.Spec.Type == corev1.ServiceTypeClusterIP && m.has.Has(Headless) && m.in(1, 4) {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
}

func (m *serviceMaker) chooseFamilies(s *corev1.Service) {
	s.Spec.IPFamilies = slices.Clone(m.cluster.families)
	if len(m.cluster.families) > 1 {
		switch m.below(6) {
		case 2:
			slices.Reverse(s.Spec.IPFamilies)
		case 3, 4:
			s.Spec.IPFamilies = s.Spec.IPFamilies[:1]
		case 5:
			s.Spec.IPFamilies = s.Spec.IPFamilies[1:]
		}
	}
}

func (m *serviceMaker) choosePorts(s *corev1.Service) {
	old := s.Spec.Ports
	count := 1
	if m.has.Has(SeveralPorts) {
		count = choose(m.draw, []weighted[int]{{50, 1}, {35, 2}, {15, 3}})
	}
	protocols := []weighted[corev1.Protocol]{{60, corev1.ProtocolTCP}}
	if m.has.Has(UDP) {
		protocols = append(protocols, weighted[corev1.Protocol]{40, corev1.ProtocolUDP})
	}
	if m.has.Has(SCTP) {
		protocols = append(protocols, weighted[corev1.Protocol]{15, corev1.ProtocolSCTP})
	}
	s.Spec.Ports = nil
	for i := range count {
		p := corev1.ServicePort{
			Name:     []string{"http", "dns", "metrics"}[i],
			Protocol: choose(m.draw, protocols),
			Port:     choose(m.draw, []weighted[int32]{{40, 80}, {20, 443}, {20, 53}, {10, 9153}, {5, 1}, {5, 65535}}),
		}
		if p.Port == firstPort && m.cluster.somebody(func(o *corev1.Service) bool { return hasNodePort(o, firstPort) }) {
			p.Port = 80 // whose a packet to a node's own address would be is nobody's promise
		}
		p.TargetPort = pick(m.draw, intstr.FromInt32(8080), intstr.FromString(p.Name))
		taken := slices.ContainsFunc(s.Spec.Ports, func(o corev1.ServicePort) bool { return o.Port == p.Port && o.Protocol == p.Protocol })
		if taken {
			continue
		}
		if i < len(old) && m.in(3, 4) { // node ports stay with their port
			p.NodePort = old[i].NodePort
		}
		s.Spec.Ports = append(s.Spec.Ports, p)
	}
	if len(s.Spec.Ports) == 1 && m.in(1, 2) {
		s.Spec.Ports[0].Name = ""
	}
}

// editPorts takes a port away, adds one or changes one, and leaves the others as they are. A service without ports stays one.
func (m *serviceMaker) editPorts(s *corev1.Service) {
	was := slices.Clone(s.Spec.Ports)
	m.choosePorts(s)
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
		case i > 0 && i < len(was) && m.in(1, 2):
			s.Spec.Ports = was[:i]
			return
		}
	}
	if last := len(was) - 1; last >= 0 {
		was[last].Port = int32(7000 + m.below(2))
	}
}

func (m *serviceMaker) choosePolicies(s *corev1.Service) {
	cluster, local := corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal
	s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	if m.has.Has(ExternalLocal) && m.in(2, 3) {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	s.Spec.InternalTrafficPolicy = &cluster
	if m.has.Has(InternalLocal) && m.in(1, 3) {
		s.Spec.InternalTrafficPolicy = &local
	}
	s.Spec.PublishNotReadyAddresses = m.has.Has(NotReady) && m.in(1, 12)
}

func (m *serviceMaker) chooseAffinity(s *corev1.Service) {
	s.Spec.SessionAffinity, s.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	if m.has.Has(Affinity) && m.in(1, 2) {
		seconds := choose(m.draw, []weighted[int32]{{60, 10800}, {20, 30}, {10, 1}, {10, 86400}})
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}

func (m *serviceMaker) chooseExternalIPs(s *corev1.Service) {
	s.Spec.ExternalIPs = nil
	if !m.has.Has(ExternalIPs) || m.in(1, 2) {
		return
	}
	for range choose(m.draw, []weighted[int]{{70, 1}, {30, 2}}) {
		family := pick(m.draw, m.cluster.families...)
		ip := externalIP(family, m.numbers.next())
		switch {
		case m.has.Has(Contested) && m.in(1, 3):
			ip = externalIP(family, 9)
		case m.has.Has(Contested) && m.in(1, 4):
			ip = nodeAddress(family, 1)
		case m.has.Has(OddSpelling) && m.in(1, 3):
			ip = odd(ip)
		}
		if !slices.Contains(s.Spec.ExternalIPs, ip) {
			s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, ip)
		}
	}
}

func (m *serviceMaker) chooseBalancer(s *corev1.Service) {
	allocate := !m.in(1, 5)
	s.Spec.AllocateLoadBalancerNodePorts = &allocate
	s.Spec.LoadBalancerSourceRanges = nil
	if m.has.Has(SourceRanges) && m.in(2, 3) {
		s.Spec.LoadBalancerSourceRanges = m.sourceRanges()
	}
	s.Status.LoadBalancer.Ingress = nil
	for range choose(m.draw, []weighted[int]{{75, 1}, {15, 2}, {10, 0}}) {
		family := pick(m.draw, m.cluster.families...)
		ingress := corev1.LoadBalancerIngress{IP: balancerIP(family, m.numbers.next())}
		switch {
		case m.has.Has(Contested) && m.in(1, 4):
			ingress.IP = balancerIP(family, 9)
		case m.has.Has(ExtraAddresses) && m.in(1, 2): // one that a node has itself
			ingress.IP = extraAddress(family, m.nodeOfExtraAddress().number)
			if len(s.Spec.LoadBalancerSourceRanges) > 0 && m.in(1, 2) { // which the nodes are in, and the address is not
				s.Spec.LoadBalancerSourceRanges = []string{neighbourhoods[family]}
			}
		case m.has.Has(OddSpelling) && m.in(1, 3):
			ingress.IP = odd(ingress.IP)
		case m.in(1, 15):
			ingress = corev1.LoadBalancerIngress{Hostname: "balancer.example.com"}
		}
		if ingress.IP != "" && m.in(2, 3) {
			mode := corev1.LoadBalancerIPModeVIP
			if m.has.Has(ProxyMode) && m.in(1, 2) {
				mode = corev1.LoadBalancerIPModeProxy
			}
			ingress.IPMode = &mode
		}
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, ingress)
	}
}

// nodeOfExtraAddress is a node with an address beside its main one, any if there is none.
func (m *serviceMaker) nodeOfExtraAddress() node {
	var has []node
	for _, n := range m.cluster.nodes {
		if n.extra {
			has = append(has, n)
		}
	}
	if len(has) == 0 {
		return pick(m.draw, m.cluster.nodes...)
	}
	return pick(m.draw, has...)
}

// sourceRanges hold some of the machines that every scenario has.
func (m *serviceMaker) sourceRanges() []string {
	v4 := []string{"203.0.113.0/24", "203.0.113.7/32", "198.51.100.0/24", "192.168.0.0/24", "10.244.0.0/16", "10.0.0.0/8", "192.168.0.2/32",
		"0.0.0.0/0", "128.0.0.0/1"}
	v6 := []string{"2001:db8:9::/64", "2001:db8:9::7/128", "2001:db8:ee::/64", "2001:db8::/64", "fd00:10:244::/56", "fd00::/8",
		"2001:db8::2/128", "::/0", "::/1"}
	var out []string
	for range choose(m.draw, []weighted[int]{{60, 1}, {30, 2}, {10, 3}}) {
		i := choose(m.draw, []weighted[int]{{25, 0}, {10, 1}, {15, 2}, {25, 3}, {10, 4}, {5, 5}, {10, 6}, {5, 7}, {5, 8}})
		one := v4[i]
		if pick(m.draw, m.cluster.families...) == corev1.IPv6Protocol {
			one = v6[i]
		}
		if m.has.Has(OddSpelling) && m.in(1, 3) {
			one = m.oddRange(one)
		}
		out = append(out, one)
	}
	return out
}

// oddRange spells a range as the API lets it through.
func (m *serviceMaker) oddRange(text string) string {
	if p := netip.MustParsePrefix(text); p.Addr().Is4() && p.Bits() > 0 && m.in(1, 2) {
		return fmt.Sprintf("::ffff:%s/%d", p.Addr(), 96+p.Bits())
	}
	return " " + text + " "
}

// complete makes the service one that an API server would hand out: what its type
// does not have is cleared, what is missing is allocated or defaulted.
func (m *serviceMaker) complete(s *corev1.Service) {
	m.completeIPs(s)
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
		spec.HealthCheckNodePort = m.numbers.freePort(s)
	}
	m.completeNodePorts(s)
}

func (m *serviceMaker) completeNodePorts(s *corev1.Service) {
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		switch {
		case s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer,
			s.Spec.AllocateLoadBalancerNodePorts != nil && !*s.Spec.AllocateLoadBalancerNodePorts:
			p.NodePort = 0
		case p.NodePort == 0:
			p.NodePort = m.numbers.freePort(s)
		}
	}
}

func (m *serviceMaker) completeIPs(s *corev1.Service) {
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
		spec.IPFamilies = slices.Clone(m.cluster.families)
	}
	spec.ExternalName = ""
	if len(spec.ClusterIPs) == len(spec.IPFamilies) {
		return
	}
	spec.ClusterIPs = nil
	for _, family := range spec.IPFamilies {
		spec.ClusterIPs = append(spec.ClusterIPs, m.numbers.clusterIP(family))
	}
	spec.ClusterIP = spec.ClusterIPs[0]
}
