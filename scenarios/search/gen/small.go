package gen

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// smallEvents is how many things happen in a small scenario at most.
const smallEvents = 3

// smallCount is how many small scenarios there are.
func smallCount() uint64 {
	count, sequences := uint64(0), uint64(1)
	for range smallEvents {
		sequences *= uint64(len(shortEvents()))
		count += sequences
	}
	return count * uint64(len(shortServices()))
}

// Small is one of the scenarios with up to three things that happen to one service on two
// nodes: the enumeration of all sequences of them, after smallCount from the beginning.
// They are for walking all interleavings.
func Small(n uint64) *scenarios.Scenario {
	n %= smallCount()
	kinds, events := shortServices(), shortEvents()
	s := &short{out: &scenarios.Scenario{Name: "generated"}, service: kinds[n%uint64(len(kinds))]()}
	n /= uint64(len(kinds))
	sequences := uint64(len(events))
	length := 1
	for ; n >= sequences; length++ {
		n -= sequences
		sequences *= uint64(len(events))
	}
	s.begin()
	for range length {
		events[n%uint64(len(events))](s)
		n /= uint64(len(events))
	}
	return s.out
}

// short is a small scenario, with its service and endpoints as they are after the steps so far.
type short struct {
	out     *scenarios.Scenario
	service *corev1.Service // nil while it is deleted
	deleted *corev1.Service
	slice   *discoveryv1.EndpointSlice
}

// shortServices are the services that small scenarios are about.
func shortServices() []func() *corev1.Service {
	service := func(protocol corev1.Protocol) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: metav1.NamespaceDefault},
			Spec: corev1.ServiceSpec{
				ClusterIP: serviceIP(corev1.IPv4Protocol, 1),
				Ports:     []corev1.ServicePort{{Port: 80, Protocol: protocol}},
			},
		}
	}
	return []func() *corev1.Service{
		func() *corev1.Service { return service(corev1.ProtocolUDP) },
		func() *corev1.Service {
			s := service(corev1.ProtocolTCP)
			s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeNodePort, 30001
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			return s
		},
		func() *corev1.Service {
			s := service(corev1.ProtocolUDP)
			s.Spec.Type, s.Spec.Ports[0].NodePort = corev1.ServiceTypeLoadBalancer, 30001
			s.Spec.LoadBalancerSourceRanges = []string{"203.0.113.0/24"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: balancerIP(corev1.IPv4Protocol, 21)}}
			return s
		},
		func() *corev1.Service {
			s := service(corev1.ProtocolTCP)
			s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
			return s
		},
	}
}

// shortEvents are what happens in small scenarios. One that cannot happen does nothing.
func shortEvents() []func(*short) {
	return []func(*short){
		(*short).endpointComes, (*short).endpointGoes,
		func(s *short) { s.endpointIs(false, true) },
		func(s *short) { s.endpointIs(false, false) },
		(*short).serviceGoes, (*short).serviceComes, (*short).portChanges, (*short).policyChanges,
		(*short).sliceGoes,
		func(s *short) { s.add(scenarios.Step{Restart: everyNode()}) },
		func(s *short) {
			zone := zones[1]
			s.add(scenarios.Step{Node: &scenarios.NodeChange{Name: "node2", Labels: map[string]*string{corev1.LabelTopologyZone: &zone}}})
		},
	}
}

func (s *short) add(step scenarios.Step) { s.out.Steps = append(s.out.Steps, step) }

// begin is the cluster before anything happens: two nodes, and an endpoint on the second.
func (s *short) begin() {
	s.out.Topology = scenarios.Topology{
		Nodes: scenarios.Nodes{{Name: "node1"}, {Name: "node2"}},
		Pods:  []scenarios.Pod{{Name: "client1", Node: "node1"}},
	}
	s.out.Topology.Outside = []scenarios.Machine{{Name: "internet", Addresses: addressesOf(outsiders[corev1.IPv4Protocol])}}
	s.out.IPTables.Dialects = []netfilter.Dialect{netfilter.Legacy}
	s.slice = &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-v4-1", Namespace: metav1.NamespaceDefault, Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Protocol: ptr.To(s.service.Spec.Ports[0].Protocol), Port: ptr.To[int32](8080)}},
		Endpoints:   []discoveryv1.Endpoint{shortEndpoint(2)},
	}
	s.out.Objects = append(s.out.Objects, object(s.service), object(s.slice))
}

func shortEndpoint(number int) discoveryv1.Endpoint {
	p := pod{node: number, number: firstPod}
	name := []string{"node1", "node2"}[number-1]
	return discoveryv1.Endpoint{
		Addresses:  []string{p.address(corev1.IPv4Protocol)},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		NodeName:   &name,
	}
}

func (s *short) changeSlice(change func(*discoveryv1.EndpointSlice)) {
	if s.slice == nil {
		return
	}
	s.slice = s.slice.DeepCopy()
	change(s.slice)
	s.add(scenarios.Step{Apply: scenarios.Objects{object(s.slice)}})
}

func (s *short) endpointComes() {
	s.changeSlice(func(slice *discoveryv1.EndpointSlice) {
		if len(slice.Endpoints) < 2 {
			slice.Endpoints = append(slice.Endpoints, shortEndpoint(1+(len(slice.Endpoints)+1)%2))
		}
	})
}

func (s *short) endpointGoes() {
	s.changeSlice(func(slice *discoveryv1.EndpointSlice) {
		slice.Endpoints = slice.Endpoints[:max(len(slice.Endpoints)-1, 0)]
	})
}

// endpointIs changes the conditions of the first endpoint: not ready, serving or not.
func (s *short) endpointIs(ready, serving bool) {
	s.changeSlice(func(slice *discoveryv1.EndpointSlice) {
		if len(slice.Endpoints) > 0 {
			slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &serving}
		}
	})
}

func (s *short) sliceGoes() {
	if s.slice != nil {
		s.add(scenarios.Step{Delete: []scenarios.Ref{{Ref: object(s.slice).Ref()}}})
		s.slice = nil
	}
}

func (s *short) serviceGoes() {
	if s.service != nil {
		s.add(scenarios.Step{Delete: []scenarios.Ref{{Ref: object(s.service).Ref()}}})
		s.service, s.deleted = nil, s.service
	}
}

// serviceComes has the service be there again, with the address that it had.
func (s *short) serviceComes() {
	if s.service == nil {
		s.service = s.deleted
		s.add(scenarios.Step{Apply: scenarios.Objects{object(s.service)}})
	}
}

func (s *short) changeService(change func(*corev1.Service)) {
	if s.service != nil {
		s.service = s.service.DeepCopy()
		change(s.service)
		s.add(scenarios.Step{Apply: scenarios.Objects{object(s.service)}})
	}
}

func (s *short) portChanges() { s.changeService(func(o *corev1.Service) { o.Spec.Ports[0].Port++ }) }

func (s *short) policyChanges() {
	s.changeService(func(o *corev1.Service) {
		o.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	})
}
