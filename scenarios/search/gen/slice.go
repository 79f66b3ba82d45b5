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

// slicesOf makes the slices of a service, for each family that it has.
func (g *generator) slicesOf(s *corev1.Service) []*discoveryv1.EndpointSlice {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	count := 1
	if g.has.Has(SeveralSlices) {
		count = choose(&g.draw, []weighted[int]{{60, 1}, {30, 2}, {10, 3}})
	}
	if g.in(1, 10) {
		return nil
	}
	pods := g.somePods(s, choose(&g.draw, []weighted[int]{{30, 2}, {20, 1}, {20, 3}, {10, 0}, {10, 4}}))
	style := g.hintStyle()
	families := s.Spec.IPFamilies
	if len(families) == 0 { // a headless service without families
		families = g.families
	}
	var out []*discoveryv1.EndpointSlice
	for _, family := range families {
		made := make([]*discoveryv1.EndpointSlice, count)
		for i := range made {
			made[i] = g.newSlice(s, family, i+1)
		}
		for i, p := range pods {
			in := made[i%count]
			in.Endpoints = append(in.Endpoints, g.endpoint(family, p, style))
		}
		if count > 1 && len(pods) > 0 && g.has.Has(Duplicates) && g.in(1, 3) { // while it moves, or as a controller that restarted leaves it
			if in := made[len(pods)%count]; !hasAddress(in, pods[0].address(family)) {
				in.Endpoints = append(in.Endpoints, g.endpoint(family, pods[0], style))
			}
		}
		out = append(out, made...)
	}
	return out
}

// newSlice makes a slice of a service, with no endpoints yet.
func (g *generator) newSlice(s *corev1.Service, family corev1.IPFamily, number int) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      fmt.Sprintf("%s-v%s-%d", s.Name, string(family)[len("IPv"):], number),
			Labels:    map[string]string{discoveryv1.LabelServiceName: s.Name},
		},
		AddressType: discoveryv1.AddressType(family),
		Ports:       g.slicePorts(s),
	}
	if s.Spec.ClusterIP == corev1.ClusterIPNone { // as the controller does
		slice.Labels[corev1.IsHeadlessService] = ""
	}
	if g.has.Has(OddSlices) && g.in(1, 20) {
		slice.Name, slice.Labels = slice.Name+"-nobody", nil
	}
	return slice
}

// slicePorts are those of the service, but for an odd one that is missing or does not fit.
func (g *generator) slicePorts(s *corev1.Service) []discoveryv1.EndpointPort {
	number := choose(&g.draw, []weighted[int32]{{60, 8080}, {20, 9376}, {20, 80}})
	var out []discoveryv1.EndpointPort
	for i, port := range s.Spec.Ports {
		p := discoveryv1.EndpointPort{Name: ptr.To(port.Name), Protocol: ptr.To(port.Protocol), Port: ptr.To(number + int32(i))}
		if g.has.Has(OddSlices) && g.in(1, 6) {
			switch g.below(4) {
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
func (g *generator) somePods(s *corev1.Service, count int) []pod {
	var out []pod
	for range count {
		if p := g.somePod(s); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// somePod is a pod of a service's own, or one whose address another one had that stopped.
func (g *generator) somePod(s *corev1.Service) pod {
	place := max(slices.Index(serviceNames, s.Name), 0)
	switch {
	case g.has.Has(FarEndpoints) && g.in(1, 6):
		return pod{number: firstPod + place*podsOf + g.below(2)}
	case g.has.Has(HostEndpoints) && g.in(1, 5):
		return pod{node: pick(&g.draw, g.nodes...).number}
	case g.has.Has(Contested) && g.in(1, 8): // a pod behind several services
		place = len(serviceNames)
	}
	return pod{node: pick(&g.draw, g.nodes...).number, number: firstPod + place*podsOf + g.below(podsOf)}
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

func (g *generator) endpoint(family corev1.IPFamily, p pod, style hintStyle) discoveryv1.Endpoint {
	if g.options.OtherFamily && g.in(1, 150) {
		family = otherFamily(family)
	}
	e := discoveryv1.Endpoint{Addresses: []string{p.address(family)}, Conditions: g.conditions(4)}
	if g.has.Has(OddSpelling) && g.in(1, 4) {
		e.Addresses[0] = odd(e.Addresses[0])
	}
	if g.has.Has(OddSlices) && g.in(1, 15) { // further addresses do not count
		e.Addresses = append(e.Addresses, podAddress(family, max(p.node, 1), 98))
	}
	zone := ""
	if p.node > 0 && !g.nameless(p) {
		n := g.nodes[p.node-1]
		e.NodeName, zone = &n.name, n.zone
		if zone != "" {
			e.Zone = &zone
		}
	}
	e.Hints = g.hints(e.NodeName, zone, style)
	return e
}

// nameless reports whether the slices do not say which node a pod is on. All of them say the same.
func (g *generator) nameless(p pod) bool {
	if _, known := g.unplaced[p]; !known {
		g.unplaced[p] = g.has.Has(NoNodeName) && g.in(1, 3)
	}
	return g.unplaced[p]
}

// conditions are those of a ready endpoint, but for one of the given number.
func (g *generator) conditions(one int) discoveryv1.EndpointConditions {
	yes, no := ptr.To(true), ptr.To(false)
	states := []weighted[discoveryv1.EndpointConditions]{}
	if g.has.Has(NotReady) {
		states = append(states, weighted[discoveryv1.EndpointConditions]{60, discoveryv1.EndpointConditions{Ready: no, Serving: no, Terminating: no}},
			weighted[discoveryv1.EndpointConditions]{10, discoveryv1.EndpointConditions{Ready: no}})
	}
	if g.has.Has(Terminating) {
		states = append(states, weighted[discoveryv1.EndpointConditions]{60, discoveryv1.EndpointConditions{Ready: no, Serving: yes, Terminating: yes}},
			weighted[discoveryv1.EndpointConditions]{30, discoveryv1.EndpointConditions{Ready: no, Serving: no, Terminating: yes}})
	}
	if g.has.Has(OddSlices) {
		states = append(states, weighted[discoveryv1.EndpointConditions]{10, discoveryv1.EndpointConditions{}},
			weighted[discoveryv1.EndpointConditions]{10, discoveryv1.EndpointConditions{Ready: yes, Serving: yes, Terminating: yes}}) // publishNotReadyAddresses
	}
	if len(states) == 0 || !g.in(1, one) {
		return discoveryv1.EndpointConditions{Ready: yes, Serving: yes, Terminating: no}
	}
	return choose(&g.draw, states)
}

func (g *generator) hintStyle() hintStyle {
	styles := []weighted[hintStyle]{{80, noHints}}
	if g.has.Has(ZoneHints) {
		styles = append(styles, weighted[hintStyle]{30, zoneHints}, weighted[hintStyle]{10, someHints})
	}
	if g.has.Has(NodeHints) {
		styles = append(styles, weighted[hintStyle]{20, nodeHints})
	}
	if g.has.Has(ZoneHints) && g.has.Has(NodeHints) {
		styles = append(styles, weighted[hintStyle]{20, bothHints})
	}
	return choose(&g.draw, styles)
}

// hints makes hints in a style, most of them for where the endpoint itself is.
func (g *generator) hints(node *string, zone string, style hintStyle) *discoveryv1.EndpointHints {
	if style == noHints || style == someHints && g.in(1, 4) {
		return nil
	}
	var out discoveryv1.EndpointHints
	if style != nodeHints {
		if zone == "" || g.in(1, 4) {
			zone = pick(&g.draw, zones...)
		}
		out.ForZones = []discoveryv1.ForZone{{Name: zone}}
		if g.in(1, 6) {
			out.ForZones = append(out.ForZones, discoveryv1.ForZone{Name: "zone-c"})
		}
	}
	if style == nodeHints || style == bothHints {
		name := pick(&g.draw, g.nodes...).name
		if node != nil && g.in(3, 4) {
			name = *node
		}
		out.ForNodes = []discoveryv1.ForNode{{Name: name}}
	}
	return &out
}
