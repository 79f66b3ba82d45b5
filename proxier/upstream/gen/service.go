package gen

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

var (
	families = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	names    = []string{"web", "dns", "db", "api", "x", "sip", "a-name-of-sixty-three-characters-which-is-as-long-as-one-can-be-1"}
)

// service makes a service, or what one that is there might be changed to.
func (g *generator) service(namespace, name string) *v1.Service {
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if old := g.api.Services[cases.Key(namespace+"/"+name)]; old != nil {
		s = old.DeepCopy()
	}
	g.chooseType(s)
	g.choosePorts(s)
	g.choosePolicies(s)
	g.chooseExternalIPs(s)
	g.chooseBalancer(s)
	g.normalize(s)
	return s
}

// changeService changes one thing about a service, or nothing that matters.
func (g *generator) changeService() {
	s := g.anyService().DeepCopy()
	choices := []func(*v1.Service){
		g.chooseType, g.choosePorts, g.choosePolicies, g.choosePolicies, g.chooseExternalIPs, g.chooseBalancer, g.chooseBalancer,
		func(s *v1.Service) { s.Annotations = map[string]string{"touched": fmt.Sprint(len(g.out.Steps))} },
		func(*v1.Service) {},
	}
	pick(g, choices...)(s)
	g.normalize(s)
	g.add(cases.Step{Service: s})
}

const labelServiceProxyName = "service.kubernetes.io/service-proxy-name"

// handOver gives a service to another proxy, or takes it back.
func (g *generator) handOver() {
	s := g.anyService().DeepCopy()
	_, had := s.Labels[labelServiceProxyName]
	s.Labels = map[string]string{}
	if !had {
		s.Labels[labelServiceProxyName] = "another"
	}
	g.add(cases.Step{Service: s})
	g.mirror(s, labelServiceProxyName, !had)
}

// headless takes the cluster IP from a service, or gives it one: what was in between, or that it was made anew, went unseen.
func (g *generator) headless() {
	s := g.anyService().DeepCopy()
	becomes := s.Spec.ClusterIP != v1.ClusterIPNone
	s.Spec.Type, s.Spec.ClusterIP, s.Spec.ClusterIPs = v1.ServiceTypeClusterIP, "", nil
	if becomes {
		s.Spec.ClusterIP = v1.ClusterIPNone
	}
	g.normalize(s)
	g.add(cases.Step{Service: s})
	g.mirror(s, v1.IsHeadlessService, becomes)
}

func (g *generator) chooseType(s *v1.Service) {
	spec := &s.Spec
	spec.Type = pick(g, v1.ServiceTypeClusterIP, v1.ServiceTypeClusterIP, v1.ServiceTypeClusterIP,
		v1.ServiceTypeNodePort, v1.ServiceTypeNodePort, v1.ServiceTypeLoadBalancer, v1.ServiceTypeLoadBalancer, v1.ServiceTypeLoadBalancer)
	if g.in(1, 15) {
		spec.Type = v1.ServiceTypeExternalName
	}
	if spec.Type == v1.ServiceTypeClusterIP && g.in(1, 12) {
		spec.ClusterIP = v1.ClusterIPNone
	}
	both := []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	spec.IPFamilies = slices.Clone(pick(g, both, both, both, []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol},
		both[:1], both[:1], both[1:], nil))
}

func (g *generator) choosePorts(s *v1.Service) {
	old := s.Spec.Ports
	count := pick(g, 1, 1, 1, 2, 2, 3)
	s.Spec.Ports = nil
	for _, name := range g.Perm(count) {
		port := v1.ServicePort{
			Name:     []string{"http", "dns", "long-port-name1"}[name],
			Protocol: pick(g, v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolUDP, v1.ProtocolSCTP),
			Port:     pick[int32](g, 80, 80, 443, 53, 5060, 1, 65535),
		}
		if count == 1 && g.in(1, 3) {
			port.Name = ""
		}
		port.TargetPort = pick(g, intstr.FromInt32(8080), intstr.FromString("http"))
		taken := slices.ContainsFunc(s.Spec.Ports, func(p v1.ServicePort) bool { return p.Port == port.Port && p.Protocol == port.Protocol })
		if !taken {
			s.Spec.Ports = append(s.Spec.Ports, port)
		}
	}
	for i := range s.Spec.Ports { // node ports stay with their port
		if i < len(old) && g.in(3, 4) {
			s.Spec.Ports[i].NodePort = old[i].NodePort
		}
	}
}

func (g *generator) choosePolicies(s *v1.Service) {
	spec := &s.Spec
	spec.ExternalTrafficPolicy = pick(g, v1.ServiceExternalTrafficPolicyCluster, v1.ServiceExternalTrafficPolicyLocal)
	spec.InternalTrafficPolicy = nil
	if g.in(1, 4) {
		spec.InternalTrafficPolicy = ptr.To(v1.ServiceInternalTrafficPolicyLocal)
	}
	spec.SessionAffinity, spec.SessionAffinityConfig = v1.ServiceAffinityNone, nil
	if g.in(1, 4) {
		spec.SessionAffinity = v1.ServiceAffinityClientIP
		seconds := pick[int32](g, 10800, 10800, 1, 30, 86400)
		spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
	spec.TrafficDistribution = nil
	if g.in(1, 4) {
		spec.TrafficDistribution = ptr.To(pick(g,
			v1.ServiceTrafficDistributionPreferClose, v1.ServiceTrafficDistributionPreferSameZone, v1.ServiceTrafficDistributionPreferSameNode))
	}
	spec.PublishNotReadyAddresses = g.in(1, 10)
}

// oddExternalIPs are addresses that several services may have, of the node, spelled in odd ways or no addresses at all.
var oddExternalIPs = []string{
	"198.51.100.1", "198.51.100.1", "2001:db8:e::1", "192.168.10.1", "172.31.0.1", "fd00:10::1", "198.051.100.010", "::ffff:198.51.100.9",
	"2001:DB8:E:0::0002", "8.8.8.8", " ",
}

func (g *generator) chooseExternalIPs(s *v1.Service) {
	s.Spec.ExternalIPs = nil
	if g.in(2, 3) {
		return
	}
	for range 1 + g.IntN(3) {
		g.lastIP++
		own := pick(g, fmt.Sprintf("198.51.100.%d", 20+g.lastIP%200), fmt.Sprintf("2001:db8:e::%x", 20+g.lastIP))
		s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, pick(g, own, own, own, pick(g, oddExternalIPs...)))
	}
}

var sourceRanges = []string{
	"203.0.113.0/24", " 10.0.0.0/8", "192.168.10.0/24 ", "192.168.10.77/24", "198.51.100.7/32", "010.001.0.0/16", "::ffff:10.2.0.0/112",
	"fd00:10::/64", " 2001:db8::/32", "2001:DB8:c:0::1/128", "10.244.0.0/16",
}

func (g *generator) chooseBalancer(s *v1.Service) {
	spec := &s.Spec
	spec.AllocateLoadBalancerNodePorts = ptr.To(g.in(4, 5))
	spec.LoadBalancerSourceRanges = nil
	if g.in(2, 5) {
		for range 1 + g.IntN(3) {
			spec.LoadBalancerSourceRanges = append(spec.LoadBalancerSourceRanges, pick(g, sourceRanges...))
		}
		if g.in(1, 12) {
			spec.LoadBalancerSourceRanges = append(spec.LoadBalancerSourceRanges, pick(g, "0.0.0.0/0", "::/0"))
		}
	}
	s.Status.LoadBalancer.Ingress = nil
	for range g.IntN(4) {
		g.lastIP++
		own := pick(g, fmt.Sprintf("203.0.113.%d", 20+g.lastIP%200), fmt.Sprintf("2001:db8:f::%x", 20+g.lastIP))
		ingress := v1.LoadBalancerIngress{
			IP: pick(g, own, own, own, own, pick(g,
				"203.0.113.9", "2001:db8:f::9", "192.168.10.1", "203.000.113.008", "::ffff:203.0.113.7", "2001:DB8:F:0::7")),
			IPMode: pick(g, nil, ptr.To(v1.LoadBalancerIPModeVIP), ptr.To(v1.LoadBalancerIPModeVIP), ptr.To(v1.LoadBalancerIPModeProxy)),
		}
		if g.in(1, 12) {
			ingress = v1.LoadBalancerIngress{Hostname: "balancer.example.com"}
		}
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, ingress)
	}
}

// normalize makes the service one that an API server would hand out: what its type does not have is cleared, what is
// missing is allocated or defaulted.
func (g *generator) normalize(s *v1.Service) {
	spec := &s.Spec
	balanced := spec.Type == v1.ServiceTypeLoadBalancer
	if !balanced {
		spec.AllocateLoadBalancerNodePorts, spec.LoadBalancerSourceRanges = nil, nil
		if g.in(19, 20) { // older servers left the status in place
			s.Status.LoadBalancer.Ingress = nil
		}
	}
	g.normalizeIPs(s)
	external := balanced || spec.Type == v1.ServiceTypeNodePort || spec.Type == v1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	if !external {
		spec.ExternalTrafficPolicy = ""
	} else if spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster
	}
	if spec.InternalTrafficPolicy == nil && spec.Type != v1.ServiceTypeExternalName {
		spec.InternalTrafficPolicy = ptr.To(v1.ServiceInternalTrafficPolicyCluster)
	}
	if !balanced || spec.ExternalTrafficPolicy != v1.ServiceExternalTrafficPolicyLocal {
		spec.HealthCheckNodePort = 0
	} else if spec.HealthCheckNodePort == 0 && g.in(30, 31) {
		spec.HealthCheckNodePort = g.freePort()
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		switch {
		case spec.Type != v1.ServiceTypeNodePort && !balanced, balanced && !ptr.Deref(spec.AllocateLoadBalancerNodePorts, true):
			port.NodePort = 0
		case port.NodePort == 0:
			port.NodePort = g.freePort()
		}
	}
}

// freePort allocates a node port. None is handed out twice.
func (g *generator) freePort() int32 {
	g.lastPort++
	return g.lastPort
}

func (g *generator) normalizeIPs(s *v1.Service) {
	spec := &s.Spec
	if spec.Type == v1.ServiceTypeExternalName {
		spec.ExternalName, spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.ExternalIPs = "example.com", "", nil, nil, nil
		return
	}
	spec.ExternalName = ""
	if spec.ClusterIP == v1.ClusterIPNone {
		spec.Type, spec.ClusterIPs, spec.ExternalIPs = v1.ServiceTypeClusterIP, []string{v1.ClusterIPNone}, nil
		return
	}
	if spec.IPFamilies == nil && spec.ClusterIP == "" {
		spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	}
	wanted := max(len(spec.IPFamilies), 1)
	if len(spec.ClusterIPs) == wanted && (spec.IPFamilies == nil || is6(spec.ClusterIP) == (spec.IPFamilies[0] == v1.IPv6Protocol)) {
		return
	}
	spec.ClusterIPs = nil
	if spec.IPFamilies == nil { // an object of before dual-stack
		spec.ClusterIPs = []string{g.clusterIP(v1.IPv4Protocol)}
	}
	for _, family := range spec.IPFamilies {
		spec.ClusterIPs = append(spec.ClusterIPs, g.clusterIP(family))
	}
	spec.ClusterIP = spec.ClusterIPs[0]
}

func (g *generator) clusterIP(family v1.IPFamily) string {
	g.lastIP++
	if family == v1.IPv6Protocol {
		return fmt.Sprintf(pick(g, "fd00:30::%x", "fd00:30::%x", "FD00:30:0::%04X"), g.lastIP)
	}
	return fmt.Sprintf(pick(g, "172.30.%d.%d", "172.30.%d.%d", "172.030.%03d.%03d", "::ffff:172.30.%d.%d"), g.lastIP/250, 1+g.lastIP%250)
}

func is6(address string) bool { return netutils.IsIPv6String(address) }
