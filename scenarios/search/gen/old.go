package gen

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// aging makes the objects of a scenario such as former API servers and other controllers kept them: what they did not fill in, addresses
// that nobody had checked, fields of later versions. An object has the same traits as long as it is there.
type aging struct {
	*draw
	cluster  *cluster
	services map[string][]func(*corev1.Service)
	slices   map[string][]func(*discoveryv1.EndpointSlice)
	renamed  map[string]string // services
}

// longName and longPort are the longest names that there can be.
const (
	longName = "a-name-of-sixty-three-characters-which-is-as-long-as-one-can-be-1"
	longPort = "long-port-name1"
)

// age changes all objects of a scenario.
func age(d *draw, c *cluster, s *scenarios.Scenario) {
	a := &aging{draw: d, cluster: c, services: map[string][]func(*corev1.Service){}, slices: map[string][]func(*discoveryv1.EndpointSlice){}}
	a.renamed = map[string]string{pick(d, serviceNames...): "x", pick(d, serviceNames...): longName}
	a.objects(s.Objects)
	for i := range s.Steps {
		a.objects(s.Steps[i].Apply)
		for j := range s.Steps[i].Delete {
			ref := &s.Steps[i].Delete[j]
			ref.Name = a.name(ref.Name)
		}
	}
}

// name is what a service is called, or a slice after its service.
func (a *aging) name(name string) string {
	service, rest, slice := strings.Cut(name, "-")
	if other, ok := a.renamed[service]; ok && slice {
		return other + "-" + rest
	} else if ok {
		return other
	}
	return name
}

func portName(name string) string {
	if name == "dns" {
		return longPort
	}
	return name
}

func (a *aging) objects(list []manifest.Object) {
	for i := range list {
		switch o := list[i].DeepCopyObject().(type) {
		case *corev1.Service:
			a.service(o)
			list[i].Object = o
		case *discoveryv1.EndpointSlice:
			a.slice(o)
			list[i].Object = o
		}
	}
}

// service gives a service its traits, which are chosen when it comes, and again now and then.
func (a *aging) service(s *corev1.Service) {
	key := s.Namespace + "/" + s.Name
	traits, known := a.services[key]
	if !known || a.in(1, 8) {
		traits = some(a.draw, a.serviceTraits())
		a.services[key] = traits
	}
	for _, change := range traits {
		change(s)
	}
	s.Name = a.name(s.Name)
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].Name = portName(s.Spec.Ports[i].Name)
	}
}

// serviceTraits are what a service may have, in so many of a thousand.
func (a *aging) serviceTraits() []weighted[func(*corev1.Service)] {
	spelling, outside := a.below(2), []string{pick(a.draw, oldExternalIPs...), pick(a.draw, oldExternalIPs...)}[a.below(2):]
	ranges := []string{pick(a.draw, oldRanges...), pick(a.draw, oldRanges...)}[a.below(2):]
	distribution := pick(a.draw, corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode)
	ingress := corev1.LoadBalancerIngress{IP: balancerIP(pick(a.draw, a.cluster.families...), 10)}
	more := []corev1.LoadBalancerIngress{
		pick(a.draw, corev1.LoadBalancerIngress{Hostname: "balancer.example.com"}, corev1.LoadBalancerIngress{IP: "::ffff:203.0.113.10"}),
		{IP: pick(a.draw, "192.168.0.2", "203.000.113.011", "2001:DB8:F:0::11"), IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)},
	}[a.below(2):]
	return []weighted[func(*corev1.Service)]{
		{250, func(s *corev1.Service) { s.Spec.TrafficDistribution = &distribution }},
		{250, func(s *corev1.Service) {
			respell(s.Spec.ClusterIPs, spelling)
			s.Spec.ClusterIP = first(s.Spec.ClusterIPs, s.Spec.ClusterIP)
		}},
		{100, beforeDualStack},
		{250, func(s *corev1.Service) {
			if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
				s.Spec.ExternalIPs = append(s.Spec.ExternalIPs, outside...)
				if s.Spec.ExternalTrafficPolicy == "" {
					s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
				}
			}
		}},
		{200, func(s *corev1.Service) {
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
				s.Spec.LoadBalancerSourceRanges = append(s.Spec.LoadBalancerSourceRanges, ranges...)
			}
		}},
		{200, func(s *corev1.Service) { // of before KEP-1860
			for i := range s.Status.LoadBalancer.Ingress {
				s.Status.LoadBalancer.Ingress[i].IPMode = nil
			}
		}},
		{400, func(s *corev1.Service) {
			if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
				s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, more...)
			}
		}},
		{50, func(s *corev1.Service) { // of when it was a load balancer
			if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
				s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{ingress}
			}
		}},
		{30, func(s *corev1.Service) { s.Spec.HealthCheckNodePort = 0 }},
		{300, func(s *corev1.Service) {
			if s.Spec.Type == corev1.ServiceTypeExternalName {
				s.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
			}
		}},
	}
}

// some are values that are chosen in as many of a thousand as they weigh.
func some[T any](d *draw, values []weighted[T]) []T {
	var out []T
	for _, v := range values {
		if d.in(v.weight, 1000) {
			out = append(out, v.value)
		}
	}
	return out
}

// beforeDualStack has a service be of one family that it does not name.
func beforeDualStack(s *corev1.Service) {
	if len(s.Spec.ClusterIPs) > 0 && s.Spec.ClusterIP != corev1.ClusterIPNone {
		s.Spec.IPFamilies, s.Spec.ClusterIPs = nil, s.Spec.ClusterIPs[:1]
	}
}

func first(list []string, otherwise string) string {
	if len(list) == 0 {
		return otherwise
	}
	return list[0]
}

// oldExternalIPs are addresses that nobody has checked: of the node, of several services, spelled otherwise, or none at all.
var oldExternalIPs = []string{
	"198.51.100.9", "2001:db8:e::9", "192.168.1.2", "198.051.100.010", "::ffff:198.51.100.9", "2001:DB8:E:0::0009", "8.8.8.8", " ",
}

// oldRanges have spaces, bits beyond their length, zeros, capitals, or the form of the other family.
var oldRanges = []string{
	" 10.0.0.0/8", "192.168.0.0/24 ", "192.168.0.77/24", "010.001.0.0/16", "::ffff:10.2.0.0/112", " 2001:db8::/32", "2001:DB8:9:0::7/128",
}

// respell has addresses be spelled as they were not by today's API server: an IPv4 address with zeros, or as an IPv6 one.
func respell(addresses []string, way int) {
	for i, text := range addresses {
		switch a, err := netip.ParseAddr(text); {
		case err == nil && a.Is4() && way == 1:
			addresses[i] = "::ffff:" + text
		case err == nil:
			addresses[i] = odd(text)
		}
	}
}

// slice gives a slice its traits. It has them for good.
func (a *aging) slice(s *discoveryv1.EndpointSlice) {
	key := s.Namespace + "/" + s.Name
	traits, known := a.slices[key]
	if !known {
		traits = some(a.draw, a.sliceTraits())
		a.slices[key] = traits
	}
	for _, change := range traits {
		change(s)
	}
	if a.in(1, 8) {
		s.Annotations = map[string]string{
			corev1.EndpointsLastChangeTriggerTime: pick(a.draw, "2020-01-01T00:00:00Z", "2099-01-01T00:00:00.5Z", "today"),
		}
	}
	s.Name = a.name(s.Name)
	if service, ok := s.Labels[discoveryv1.LabelServiceName]; ok {
		s.Labels[discoveryv1.LabelServiceName] = a.name(service)
	}
	for i := range s.Ports {
		if name := s.Ports[i].Name; name != nil {
			s.Ports[i].Name = ptr.To(portName(*name))
		}
	}
}

// sliceTraits are what a slice may have, in so many of a thousand.
func (a *aging) sliceTraits() []weighted[func(*discoveryv1.EndpointSlice)] {
	each := func(change func(*discoveryv1.Endpoint)) func(*discoveryv1.EndpointSlice) {
		return func(s *discoveryv1.EndpointSlice) {
			for i := range s.Endpoints {
				change(&s.Endpoints[i])
			}
		}
	}
	return []weighted[func(*discoveryv1.EndpointSlice)]{
		{100, each(func(e *discoveryv1.Endpoint) {
			if strings.Contains(e.Addresses[0], ".") && !strings.Contains(e.Addresses[0], ":") {
				e.Addresses[0] = "::ffff:" + canonical(e.Addresses[0])
			}
		})},
		{150, each(func(e *discoveryv1.Endpoint) { // that are ready, and of which nothing more is said
			if ptr.Deref(e.Conditions.Ready, true) && !ptr.Deref(e.Conditions.Terminating, false) {
				e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(true)}
			}
		})},
		{50, each(func(e *discoveryv1.Endpoint) {
			e.Addresses = append(slices.Clip(e.Addresses), e.Addresses[0]+"0")
		})},
		{25, func(s *discoveryv1.EndpointSlice) {
			s.AddressType, s.Endpoints = discoveryv1.AddressTypeFQDN, []discoveryv1.Endpoint{{Addresses: []string{"a.example.com"}}}
		}},
	}
}
