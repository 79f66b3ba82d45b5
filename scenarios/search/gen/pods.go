package gen

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// podEvents are what happens to pods behind endpoints.
type podEvents struct {
	*workloads
	course  *course
	gone    []string          // the addresses of pods that stopped, which are free again
	started int               // how many pods started, for their names
	called  map[string]string // the names of those, by address; others are called by their address
}

// running are the addresses of the pods behind endpoints that are there.
func (h *podEvents) running() []string {
	var out []string
	for _, slice := range h.cluster.slices {
		for _, e := range slice.Endpoints {
			a, err := netip.ParseAddr(e.Addresses[0])
			if err == nil && h.isPod(a) && !slices.Contains(out, a.String()) {
				out = append(out, a.String())
			}
		}
	}
	return out
}

// isPod reports whether an address is of a pod, which is there.
func (h *podEvents) isPod(a netip.Addr) bool {
	return slices.Contains(h.cluster.families, familyOf(a)) && !slices.Contains(h.gone, a.String()) &&
		slices.ContainsFunc(h.cluster.nodes, func(n node) bool { return n.holds(a) })
}

// stopPod has a pod go that is behind an endpoint, before or after the API says so.
func (h *podEvents) stopPod() {
	running := h.running()
	if len(running) == 0 {
		return
	}
	address := pick(h.draw, running...)
	stop := scenarios.Step{Stop: []string{cmp.Or(h.called[address], address)}}
	h.gone = append(h.gone, address)
	changed := h.without(address)
	if h.in(1, 2) {
		h.course.apply(changed...)
		h.course.step(stop)
		return
	}
	h.course.step(stop)
	h.course.apply(changed...)
}

// without are the slices that have an address, as they are when it is gone.
func (h *podEvents) without(address string) []manifest.Object {
	var out []manifest.Object
	for _, slice := range h.cluster.slices {
		has := func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == address }
		if slices.ContainsFunc(slice.Endpoints, has) {
			changed := slice.DeepCopy()
			changed.Endpoints = slices.DeleteFunc(changed.Endpoints, has)
			out = append(out, h.cluster.note(object(changed)))
		}
	}
	return out
}

// startPod has a pod start with an address that another one had, behind whatever service.
func (h *podEvents) startPod() {
	s := h.anyService()
	if len(h.gone) == 0 || s == nil {
		return
	}
	i := h.below(len(h.gone))
	a := parse(h.gone[i])
	h.gone = slices.Delete(slices.Clone(h.gone), i, i+1)
	n := h.cluster.nodeOf(a)
	h.started++
	pod := scenarios.Pod{Name: fmt.Sprintf("again%d", h.started), Node: n.name, Addresses: []netip.Addr{a}}
	h.called[a.String()] = pod.Name
	for _, family := range h.cluster.families {
		if a.Is6() != (family == corev1.IPv6Protocol) { // of the other family it has one of its own
			pod.Addresses = append(pod.Addresses, parse(podAddress(family, n.number, 200+h.started)))
		}
	}
	h.course.step(scenarios.Step{Start: []scenarios.Pod{pod}})
	for _, slice := range h.cluster.slicesFor(s) {
		if (slice.AddressType == discoveryv1.AddressTypeIPv6) == a.Is6() {
			if hasAddress(slice, a.String()) {
				return
			}
			slice = slice.DeepCopy()
			e := discoveryv1.Endpoint{Addresses: []string{a.String()}, Conditions: h.slices.conditions(4), NodeName: &n.name}
			slice.Endpoints = append(slice.Endpoints, e)
			h.course.apply(h.cluster.note(object(slice)))
			return
		}
	}
}

// holds reports whether an address is of the node's podCIDRs.
func (n node) holds(a netip.Addr) bool {
	return netip.PrefixFrom(parse(podAddress(corev1.IPv4Protocol, n.number, 0)), 24).Contains(a) ||
		netip.PrefixFrom(parse(podAddress(corev1.IPv6Protocol, n.number, 0)), 64).Contains(a)
}
