package peers

import (
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// The cluster of the recorded stages (internal/dumps): namespace demo, one service of each kind, and node1.
const stagesNode = "node1"

// service begins a service of the recorded cluster with a port http.
func stagesService(name string, ip string, change ...func(*v1.Service)) *v1.Service {
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: v1.ServiceSpec{
		Type: v1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, IPFamilies: []v1.IPFamily{familyOf(ip)},
		Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	for _, c := range change {
		c(s)
	}
	return s
}

func familyOf(ip string) v1.IPFamily {
	if netip.MustParseAddr(ip).Is6() {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

func nodePort(port int32) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = v1.ServiceTypeNodePort, port }
}

func balanced(port int32, ips ...string) func(*v1.Service) {
	return func(s *v1.Service) {
		s.Spec.Type, s.Spec.Ports[0].NodePort = v1.ServiceTypeLoadBalancer, port
		for _, ip := range ips {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, v1.LoadBalancerIngress{IP: ip})
		}
	}
}

func ranges(list ...string) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = list }
}

func external(ips ...string) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.ExternalIPs = ips }
}

func externalLocal(s *v1.Service) {
	s.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
}

func internalLocal(s *v1.Service) {
	s.Spec.InternalTrafficPolicy = ptr.To(v1.ServiceInternalTrafficPolicyLocal)
}

func sticky(seconds int32) func(*v1.Service) {
	return func(s *v1.Service) {
		s.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}

func alsoIP(ip string) func(*v1.Service) {
	return func(s *v1.Service) {
		s.Spec.ClusterIPs, s.Spec.IPFamilies = append(s.Spec.ClusterIPs, ip), append(s.Spec.IPFamilies, familyOf(ip))
	}
}

func ports(list ...v1.ServicePort) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.Ports = list }
}

func ofBalancer(s *v1.Service) {
	s.Status.LoadBalancer.Ingress[0].IPMode = ptr.To(v1.LoadBalancerIPModeProxy)
}

// stagesSlice has endpoints for the ports of a service. An address of 10.244.1.0/24 or fd00:10:244:1::/64 is on node1; "ADDRESS!"
// terminates and serves.
func stagesSlice(service *v1.Service, endpoints ...string) *discovery.EndpointSlice {
	family := service.Spec.IPFamilies[0]
	if len(endpoints) > 0 {
		family = familyOf(strings.TrimSuffix(endpoints[0], "!"))
	}
	s := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: fmt.Sprintf("%s-%s", service.Name, strings.ToLower(string(family))),
			Labels: map[string]string{discovery.LabelServiceName: service.Name},
		},
		AddressType: discovery.AddressType(family),
	}
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		s.Ports = append(s.Ports, discovery.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: ptr.To(p.TargetPort.IntVal)})
	}
	for _, text := range endpoints {
		address, terminates := strings.CutSuffix(text, "!")
		node := "node2"
		if strings.HasPrefix(address, "10.244.1.") || strings.HasPrefix(address, "fd00:10:244:1:") {
			node = stagesNode
		}
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{
			Addresses: []string{address}, NodeName: &node,
			Conditions: discovery.EndpointConditions{Ready: ptr.To(!terminates), Serving: ptr.To(true), Terminating: &terminates},
		})
	}
	return s
}

// stagesCluster is what the API held before the first stage.
func stagesCluster() []cases.Step {
	dns := stagesService("dns", "172.30.0.10", ports(
		v1.ServicePort{Name: "dns", Protocol: v1.ProtocolUDP, Port: 53, TargetPort: intstr.FromInt32(8053)},
		v1.ServicePort{Name: "dns-tcp", Protocol: v1.ProtocolTCP, Port: 53, TargetPort: intstr.FromInt32(8053)},
	))
	sctp := stagesService("sctp", "172.30.0.52", ports(
		v1.ServicePort{Name: "s", Protocol: v1.ProtocolSCTP, Port: 5000, TargetPort: intstr.FromInt32(13000)}), nodePort(30086))
	var steps []cases.Step
	with := func(s *v1.Service, endpoints ...string) {
		steps = append(steps, cases.Step{Service: s})
		for _, family := range s.Spec.IPFamilies {
			var own []string
			for _, e := range endpoints {
				if familyOf(strings.TrimSuffix(e, "!")) == family {
					own = append(own, e)
				}
			}
			if len(own) > 0 {
				steps = append(steps, cases.Step{Slice: stagesSlice(s, own...)})
			}
		}
	}
	with(dns, "10.244.1.13", "10.244.2.13")
	with(stagesService("web", "172.30.0.41"), "10.244.1.2", "10.244.1.3", "10.244.2.2")
	with(stagesService("np", "172.30.0.42", nodePort(30080)), "10.244.1.4", "10.244.2.4")
	with(stagesService("lb", "172.30.0.43", balanced(30081, "203.0.113.5"), ranges("198.51.100.0/24", "192.168.10.0/24")),
		"10.244.1.5", "10.244.2.5")
	with(stagesService("lb-local", "172.30.0.44", balanced(30082, "203.0.113.6", "203.0.113.66"), externalLocal), "10.244.1.6", "10.244.2.6")
	with(stagesService("lb-local-none", "172.30.0.45", balanced(30083, "203.0.113.7"), externalLocal), "10.244.2.7")
	with(stagesService("itp", "172.30.0.46", internalLocal), "10.244.1.8", "10.244.2.8")
	with(stagesService("itp-none", "172.30.0.47", internalLocal), "10.244.2.9")
	with(stagesService("ext", "172.30.0.48", external("198.51.100.10")), "10.244.2.10")
	with(stagesService("sticky", "172.30.0.49", sticky(10800)), "10.244.1.11", "10.244.2.11")
	with(stagesService("sticky-lb", "172.30.0.50", balanced(30084, "203.0.113.8"), externalLocal, sticky(10800), ranges("0.0.0.0/1")),
		"10.244.1.12", "10.244.2.12")
	with(stagesService("none", "172.30.0.51", balanced(30085, "203.0.113.9"), ranges("198.51.100.0/24")))
	with(sctp, "10.244.1.14")
	with(stagesService("terminating", "172.30.0.53", balanced(30087, "203.0.113.10"), externalLocal), "10.244.1.15!")
	with(stagesService("gone", "172.30.0.54"))
	with(stagesService("dual", "172.30.0.55", alsoIP("fd00:172:30::55"), balanced(30088, "203.0.113.11", "2001:db8:5::b"),
		external("198.51.100.11", "2001:db8:9::11"), externalLocal, ranges("198.51.100.0/24", "2001:db8:1::/48")),
		"10.244.1.17", "10.244.2.17", "fd00:10:244:1::17", "fd00:10:244:2::17")
	with(stagesService("six", "fd00:172:30::56", sticky(10800)), "fd00:10:244:1::18", "fd00:10:244:2::18")
	with(stagesService("six-none", "fd00:172:30::57", nodePort(30089)))
	with(stagesService("proxymode", "172.30.0.58", balanced(30090, "203.0.113.12"), ofBalancer), "10.244.2.19")
	return steps
}
