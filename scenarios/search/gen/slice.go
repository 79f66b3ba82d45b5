package gen

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// firstPod is the first number of an address in a podCIDR that a pod behind an
// endpoint has; podsOf is how many addresses there are for those of one service.
const (
	firstPod = 10
	podsOf   = 8
)

// pod is a pod behind endpoints: the node that it is on (counted from 1; 0 for none)
// and its number there.
type pod struct{ node, number int }

// hintStyle is how the controller that makes slices gives hints.
type hintStyle int

const (
	noHints hintStyle = iota
	zoneHints
	nodeHints
	bothHints
	someHints // not on every endpoint, so that none of them count
)

// sliceMaker makes slices and their endpoints, and changes them.
type sliceMaker struct {
	mixture
	cluster  *cluster
	unplaced map[pod]bool // whether slices leave the node of a pod out
}

// slicesOf makes the slices of a service, for each family that it has.
func (m *sliceMaker) slicesOf(s *corev1.Service) []*discoveryv1.EndpointSlice {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	count := 1
	if m.has.Has(SeveralSlices) {
		count = choose(m.draw, []weighted[int]{{60, 1}, {30, 2}, {10, 3}})
	}
	if m.in(1, 10) {
		return nil
	}
	pods := m.somePods(s, choose(m.draw, []weighted[int]{{30, 2}, {20, 1}, {20, 3}, {10, 0}, {10, 4}}))
	style := m.hintStyle()
	families := s.Spec.IPFamilies
	if len(families) == 0 { // a headless service without families
		families = m.cluster.families
	}
	var out []*discoveryv1.EndpointSlice
	for _, family := range families {
		made := make([]*discoveryv1.EndpointSlice, count)
		for i := range made {
			made[i] = m.newSlice(s, family, i+1)
		}
		for i, p := range pods {
			in := made[i%count]
			in.Endpoints = append(in.Endpoints, m.endpoint(family, p, style))
		}
		if count > 1 && len(pods) > 0 && m.has.Has(Duplicates) && m.in(1, 3) { // while it moves, or as a controller that restarted leaves it
			if in := made[len(pods)%count]; !hasAddress(in, pods[0].address(family)) {
				in.Endpoints = append(in.Endpoints, m.endpoint(family, pods[0], style))
			}
		}
		out = append(out, made...)
	}
	return out
}

// newSlice makes a slice of a service, with no endpoints yet.
func (m *sliceMaker) newSlice(s *corev1.Service, family corev1.IPFamily, number int) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      fmt.Sprintf("%s-v%s-%d", s.Name, string(family)[len("IPv"):], number),
			Labels:    map[string]string{discoveryv1.LabelServiceName: s.Name},
		},
		AddressType: discoveryv1.AddressType(family),
		Ports:       m.slicePorts(s),
	}
	if s.Spec.ClusterIP == corev1.ClusterIPNone { // as the controller does
		slice.Labels[corev1.IsHeadlessService] = ""
	}
	if m.has.Has(OddSlices) && m.in(1, 20) {
		slice.Name, slice.Labels = slice.Name+"-nobody", nil
	}
	return slice
}

// slicePorts are the service's ports; now and then one is missing or does not fit.
func (m *sliceMaker) slicePorts(s *corev1.Service) []discoveryv1.EndpointPort {
	number := choose(m.draw, []weighted[int32]{{60, 8080}, {20, 9376}, {20, 80}})
	var out []discoveryv1.EndpointPort
	for i, port := range s.Spec.Ports {
		p := discoveryv1.EndpointPort{Name: ptr.To(port.Name), Protocol: ptr.To(port.Protocol), Port: ptr.To(number + int32(i))}
		if m.has.Has(OddSlices) && m.in(1, 6) {
			switch m.below(4) {
			case 0:
				continue
			case 1:
				p.Port = nil
			case 2:
				p.Name = ptr.To("other")
			case 3:
				p.Protocol = ptr.To(corev1.ProtocolUDP)
			}
		}
		out = append(out, p)
	}
	return out
}

// somePods are pods that the endpoints of a service may be.
func (m *sliceMaker) somePods(s *corev1.Service, count int) []pod {
	var out []pod
	for range count {
		if p := m.somePod(s); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// somePod is a pod of a service's own, or one whose address another one had that stopped.
func (m *sliceMaker) somePod(s *corev1.Service) pod {
	place := max(slices.Index(serviceNames, s.Name), 0)
	switch {
	case m.has.Has(FarEndpoints) && m.in(1, 6):
		return pod{number: firstPod + place*podsOf + m.below(2)}
	case m.has.Has(HostEndpoints) && m.in(1, 5):
		return pod{node: pick(m.draw, m.cluster.nodes...).number}
	case m.has.Has(Contested) && m.in(1, 8): // a pod behind several services
		place = len(serviceNames)
	}
	return pod{node: pick(m.draw, m.cluster.nodes...).number, number: firstPod + place*podsOf + m.below(podsOf)}
}

// address is the pod's address: of its node's podCIDR, of the node itself, or of none.
func (p pod) address(family corev1.IPFamily) string {
	switch {
	case p.node == 0:
		return farAddress(family, p.number)
	case p.number == 0:
		return nodeAddress(family, p.node)
	}
	return podAddress(family, p.node, p.number)
}

func (m *sliceMaker) endpoint(family corev1.IPFamily, p pod, style hintStyle) discoveryv1.Endpoint {
	if m.options.OtherFamily && m.in(1, 150) {
		family = otherFamily(family)
	}
	e := discoveryv1.Endpoint{Addresses: []string{p.address(family)}, Conditions: m.conditions(4)}
	if m.has.Has(OddSpelling) && m.in(1, 4) {
		e.Addresses[0] = odd(e.Addresses[0])
	}
	if m.has.Has(OddSlices) && m.in(1, 15) { // further addresses do not count
		e.Addresses = append(e.Addresses, podAddress(family, max(p.node, 1), 98))
	}
	zone := ""
	if p.node > 0 && !m.nameless(p) {
		n := m.cluster.nodes[p.node-1]
		e.NodeName, zone = &n.name, n.zone
		if zone != "" {
			e.Zone = &zone
		}
	}
	e.Hints = m.hints(e.NodeName, zone, style)
	return e
}

// nameless reports whether the slices do not say which node a pod is on. All of them say the same.
func (m *sliceMaker) nameless(p pod) bool {
	if _, known := m.unplaced[p]; !known {
		m.unplaced[p] = m.has.Has(NoNodeName) && m.in(1, 3)
	}
	return m.unplaced[p]
}

// conditions are the conditions of a ready endpoint; one in the given number has others.
func (m *sliceMaker) conditions(one int) discoveryv1.EndpointConditions {
	yes, no := ptr.To(true), ptr.To(false)
	states := []weighted[discoveryv1.EndpointConditions]{}
	if m.has.Has(NotReady) {
		states = append(states,
			weighted[discoveryv1.EndpointConditions]{60, discoveryv1.EndpointConditions{Ready: no, Serving: no, Terminating: no}},
			weighted[discoveryv1.EndpointConditions]{10, discoveryv1.EndpointConditions{Ready: no}})
	}
	if m.has.Has(Terminating) {
		states = append(states,
			weighted[discoveryv1.EndpointConditions]{60, discoveryv1.EndpointConditions{Ready: no, Serving: yes, Terminating: yes}},
			weighted[discoveryv1.EndpointConditions]{30, discoveryv1.EndpointConditions{Ready: no, Serving: no, Terminating: yes}})
	}
	if m.has.Has(OddSlices) {
		states = append(states, weighted[discoveryv1.EndpointConditions]{10, discoveryv1.EndpointConditions{}},
			// publishNotReadyAddresses
			weighted[discoveryv1.EndpointConditions]{10, discoveryv1.EndpointConditions{Ready: yes, Serving: yes, Terminating: yes}})
	}
	if len(states) == 0 || !m.in(1, one) {
		return discoveryv1.EndpointConditions{Ready: yes, Serving: yes, Terminating: no}
	}
	return choose(m.draw, states)
}

func (m *sliceMaker) hintStyle() hintStyle {
	styles := []weighted[hintStyle]{{80, noHints}}
	if m.has.Has(ZoneHints) {
		styles = append(styles, weighted[hintStyle]{30, zoneHints}, weighted[hintStyle]{10, someHints})
	}
	if m.has.Has(NodeHints) {
		styles = append(styles, weighted[hintStyle]{20, nodeHints})
	}
	if m.has.Has(ZoneHints) && m.has.Has(NodeHints) {
		styles = append(styles, weighted[hintStyle]{20, bothHints})
	}
	return choose(m.draw, styles)
}

// hints makes hints in a style, most of them for where the endpoint itself is.
func (m *sliceMaker) hints(node *string, zone string, style hintStyle) *discoveryv1.EndpointHints {
	if style == noHints || style == someHints && m.in(1, 4) {
		return nil
	}
	var out discoveryv1.EndpointHints
	if style != nodeHints {
		if zone == "" || m.in(1, 4) {
			zone = pick(m.draw, zones...)
		}
		out.ForZones = []discoveryv1.ForZone{{Name: zone}}
		if m.in(1, 6) {
			out.ForZones = append(out.ForZones, discoveryv1.ForZone{Name: "zone-c"})
		}
	}
	if style == nodeHints || style == bothHints {
		name := pick(m.draw, m.cluster.nodes...).name
		if node != nil && m.in(3, 4) {
			name = *node
		}
		out.ForNodes = []discoveryv1.ForNode{{Name: name}}
	}
	return &out
}

// addEndpoint adds a pod to a slice. A slice has an address once; another slice of the
// service may have it too where the scenario may hold duplicates.
func (m *sliceMaker) addEndpoint(to *discoveryv1.EndpointSlice, p pod, style hintStyle) {
	address := p.address(corev1.IPFamily(to.AddressType))
	if hasAddress(to, address) {
		return
	}
	s := m.cluster.serviceOf(to)
	if s != nil && !m.has.Has(Duplicates) && slices.ContainsFunc(m.cluster.slicesFor(s), func(o *discoveryv1.EndpointSlice) bool {
		return !sameSlice(o, to) && hasAddress(o, address)
	}) {
		return
	}
	to.Endpoints = append(to.Endpoints, m.endpoint(corev1.IPFamily(to.AddressType), p, style))
}

// hasAddress reports whether an endpoint of a slice has an address, however it is spelled.
func hasAddress(slice *discoveryv1.EndpointSlice, address string) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return canonical(e.Addresses[0]) == canonical(address) })
}

func (m *sliceMaker) changeEndpoints(slice *discoveryv1.EndpointSlice) {
	s, n := m.cluster.serviceOf(slice), len(slice.Endpoints)
	switch kind := m.below(20); {
	case kind < 7 && n > 0:
		e := &slice.Endpoints[m.below(n)]
		if ready := e.Conditions.Ready; m.has.Has(NotReady) && ready != nil && m.in(1, 4) {
			is := !*ready
			e.Conditions.Ready = &is // alone, as in slices that say nothing else
			return
		}
		e.Conditions = m.otherConditions()
	case kind < 12 && n > 0:
		i := m.below(n)
		slice.Endpoints = slices.Delete(slice.Endpoints, i, i+1)
	case kind < 17 && s != nil:
		m.addEndpoint(slice, m.somePod(s), m.hintStyle())
	case kind < 19:
		style := m.hintStyle()
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			zone := ""
			if e.Zone != nil {
				zone = *e.Zone
			}
			e.Hints = m.hints(e.NodeName, zone, style)
		}
	case s != nil:
		slice.Ports = m.slicePorts(s)
	}
}

// otherConditions are the conditions of any state that the features allow, also of ready.
func (m *sliceMaker) otherConditions() discoveryv1.EndpointConditions {
	if m.in(1, 4) {
		return m.conditions(m.below(2)) // ready, if the features have nothing else
	}
	return m.conditions(1)
}
