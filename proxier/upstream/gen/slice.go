package gen

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/proxier/upstream/cases"
)

// slice makes a slice of a service, with a new name or one that is there.
func (g *generator) slice(service *v1.Service, family v1.IPFamily) *discovery.EndpointSlice {
	s := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace,
			Name:      fmt.Sprintf("%s-v%s-%d", service.Name, strings.TrimPrefix(string(family), "IPv"), g.IntN(4)),
			Labels:    map[string]string{discovery.LabelServiceName: service.Name},
		},
		AddressType: discovery.AddressType(family),
		Ports:       g.slicePorts(service, 12),
	}
	style := g.IntN(6)
	for range pick(g, 0, 1, 1, 2, 2, 3, 5) {
		s.Endpoints = append(s.Endpoints, g.endpoint(s, style))
	}
	if g.in(1, 40) {
		s.Name, s.AddressType = s.Name+"-names", discovery.AddressTypeFQDN
		s.Endpoints = []discovery.Endpoint{{Addresses: []string{"a.example.com"}}}
	}
	if g.in(1, 60) {
		s.Name, s.Labels = s.Name+"-nobody", nil
	}
	return s
}

// slicePorts makes the ports of a slice: those of the service, but for one in odd that is missing or does not fit. No odd ones for 0.
func (g *generator) slicePorts(service *v1.Service, odd int) []discovery.EndpointPort {
	var ports []discovery.EndpointPort
	number := pick[int32](g, 8080, 8080, 8080, 9376, 80)
	for i, port := range service.Spec.Ports {
		p := discovery.EndpointPort{Name: ptr.To(port.Name), Protocol: ptr.To(port.Protocol), Port: ptr.To(number + int32(i))}
		if odd > 0 && g.in(1, odd) {
			switch g.IntN(4) {
			case 0:
				continue
			case 1:
				p.Port = nil
			case 2:
				p.Name = ptr.To("other")
			case 3:
				p.Protocol = ptr.To(v1.ProtocolUDP)
			}
		}
		ports = append(ports, p)
	}
	return ports
}

// host is where an endpoint is.
type host struct {
	node, zone string
	ipv4, ipv6 string // with a verb for the number of the endpoint
}

var hosts = []host{
	{"node-a", "zone-1", "10.244.1.%d", "fd00:244:1::%x"},
	{"node-a", "zone-1", "10.244.1.%d", "fd00:244:1::%x"},
	{"node-b", "zone-2", "10.244.2.%d", "fd00:244:2::%x"},
	{"node-c", "zone-1", "10.244.3.%d", "fd00:244:3::%x"},
	{"", "", "203.0.113.%d", "2001:db8:99::%x"},
}

func (g *generator) endpoint(s *discovery.EndpointSlice, hints int) discovery.Endpoint {
	h := pick(g, hosts...)
	address := g.address(&h, s)
	e := discovery.Endpoint{Addresses: []string{address}, Conditions: g.conditions(4)}
	if h.node != "" {
		e.NodeName, e.Zone = &h.node, &h.zone
	}
	if g.in(1, 25) { // further addresses do not count
		e.Addresses = append(e.Addresses, address+"0")
	}
	e.Hints = g.hints(&h, hints)
	return e
}

func (g *generator) address(h *host, s *discovery.EndpointSlice) string {
	family := v1.IPFamily(s.AddressType)
	pool := 2 + g.IntN(10)
	if !g.overlaps {
		pool += 12 * int(s.Name[len(s.Name)-1]-'0')
	}
	if h.node == "node-a" && g.overlaps && g.in(1, 12) { // a pod with the address of its node
		return map[v1.IPFamily]string{v1.IPv4Protocol: "192.168.10.1", v1.IPv6Protocol: "fd00:10::1"}[family]
	}
	if family == v1.IPv6Protocol {
		address := fmt.Sprintf(h.ipv6, pool)
		if g.in(1, 10) {
			return strings.ToUpper(strings.Replace(address, "::", ":0::0", 1))
		}
		return address
	}
	address := fmt.Sprintf(h.ipv4, pool)
	switch g.IntN(14) {
	case 0:
		return "::ffff:" + address
	case 1:
		return strings.Replace(fmt.Sprintf(h.ipv4, 0), ".0", fmt.Sprintf(".%03d", pool), 1)
	}
	return address
}

// conditions are those of a ready endpoint, but for one in odd.
func (g *generator) conditions(odd int) discovery.EndpointConditions {
	yes, no := ptr.To(true), ptr.To(false)
	if !g.in(1, odd) {
		return pick(g, discovery.EndpointConditions{Ready: yes, Serving: yes, Terminating: no}, discovery.EndpointConditions{Ready: yes})
	}
	return pick(g,
		discovery.EndpointConditions{},
		discovery.EndpointConditions{Ready: no},
		discovery.EndpointConditions{Ready: no, Serving: no, Terminating: no},
		discovery.EndpointConditions{Ready: no, Serving: yes, Terminating: yes},
		discovery.EndpointConditions{Ready: no, Serving: yes, Terminating: yes},
		discovery.EndpointConditions{Ready: no, Serving: no, Terminating: yes},
		discovery.EndpointConditions{Ready: yes, Serving: yes, Terminating: yes},
	)
}

// hints makes hints in the style of a slice.
func (g *generator) hints(h *host, style int) *discovery.EndpointHints {
	zone := []discovery.ForZone{{Name: pick(g, h.zone, h.zone, "zone-1", "zone-2")}}
	node := []discovery.ForNode{{Name: h.node}}
	if zone[0].Name == "" {
		zone[0].Name = "zone-3"
	}
	switch {
	case style == 1:
		return &discovery.EndpointHints{ForZones: zone}
	case style == 2 && h.node != "":
		return &discovery.EndpointHints{ForZones: zone, ForNodes: node}
	case style == 3 && h.node != "":
		return &discovery.EndpointHints{ForNodes: node}
	case style == 4 && g.in(3, 4):
		return &discovery.EndpointHints{ForZones: append(zone, discovery.ForZone{Name: "zone-3"})}
	}
	return nil
}

func (g *generator) newSlice() {
	service := g.anyService()
	g.add(cases.Step{Slice: g.slice(service, pick(g, families...))})
}

func (g *generator) deleteSlice() {
	if s := g.anySlice(); s != nil {
		g.add(cases.Step{DeleteSlice: s.Namespace + "/" + s.Name})
	}
}

// changeSlice changes a few endpoints of a slice.
func (g *generator) changeSlice() {
	s := g.anySlice()
	if s == nil || s.AddressType == discovery.AddressTypeFQDN {
		return
	}
	s = s.DeepCopy()
	for range 1 + g.IntN(2) {
		n := len(s.Endpoints)
		switch kind := g.IntN(10); {
		case kind < 3 || n == 0:
			s.Endpoints = append(s.Endpoints, g.endpoint(s, g.IntN(6)))
		case kind < 5:
			i := g.IntN(n)
			s.Endpoints = slices.Delete(s.Endpoints, i, i+1)
		case kind < 8:
			s.Endpoints[g.IntN(n)].Conditions = g.conditions(1)
		case kind < 9:
			style := g.IntN(6)
			for i := range s.Endpoints {
				h := hosts[2]
				s.Endpoints[i].Hints = g.hints(&h, style)
			}
		default:
			if service := g.api.Services[cases.Key(s.Namespace+"/"+s.Labels[discovery.LabelServiceName])]; service != nil {
				s.Ports = g.slicePorts(service, 8)
			}
		}
	}
	if g.in(1, 8) {
		s.Annotations = map[string]string{v1.EndpointsLastChangeTriggerTime: pick(g, "2020-01-01T00:00:00Z", "2099-01-01T00:00:00.5Z", "today")}
	}
	g.add(cases.Step{Slice: s})
}

// relabel gives a slice to another service, takes it from its service, or gives it one.
func (g *generator) relabel() {
	s := g.anySlice()
	if s == nil {
		return
	}
	s = s.DeepCopy()
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[discovery.LabelServiceName] = g.anyService().Name
	if g.in(1, 3) {
		delete(s.Labels, discovery.LabelServiceName)
	}
	g.add(cases.Step{Slice: s})
}

// mirror puts a label on the slices of a service, or takes it away, as the controller does, a while after the service has it or not
// any longer. Some slices have other owners.
func (g *generator) mirror(service *v1.Service, label string, has bool) {
	if g.in(1, 3) {
		g.do(cases.Sync)
	}
	for _, s := range g.api.SlicesOf(cases.Key(service.Namespace + "/" + service.Name)) {
		if g.in(1, 5) {
			continue
		}
		s = s.DeepCopy()
		delete(s.Labels, label)
		if has {
			s.Labels[label] = ""
		}
		g.add(cases.Step{Slice: s})
	}
}

// moveEndpoint puts an endpoint of one slice into another of the same service, first there and then not here any longer.
func (g *generator) moveEndpoint() {
	from := g.anySlice()
	if from == nil || len(from.Endpoints) == 0 {
		return
	}
	var others []*discovery.EndpointSlice
	for _, s := range g.api.SlicesOf(cases.Key(from.Namespace + "/" + from.Labels[discovery.LabelServiceName])) {
		if s.Name != from.Name && s.AddressType == from.AddressType {
			others = append(others, s)
		}
	}
	if len(others) == 0 {
		return
	}
	to := pick(g, others...).DeepCopy()
	e := from.Endpoints[0].DeepCopy()
	if g.overlaps && g.in(1, 4) {
		e.Conditions = g.conditions(1)
	}
	to.Endpoints = append(to.Endpoints, *e)
	g.add(cases.Step{Slice: to})
	if g.in(1, 3) { // the pod that had the address before still terminates
		from = from.DeepCopy()
		from.Endpoints[0].Conditions = discovery.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(g.in(1, 2)), Terminating: ptr.To(true)}
		g.add(cases.Step{Slice: from})
	}
	if g.in(1, 3) {
		g.do(cases.Sync)
	}
	if g.in(2, 3) {
		from = from.DeepCopy()
		from.Endpoints = from.Endpoints[1:]
		g.add(cases.Step{Slice: from})
	}
}
