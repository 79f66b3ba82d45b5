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

// running are the addresses of the pods behind endpoints that are there.
func (g *generator) running() []string {
	var out []string
	for _, slice := range g.slices {
		for _, e := range slice.Endpoints {
			a, err := netip.ParseAddr(e.Addresses[0])
			if err == nil && g.isPod(a) && !slices.Contains(out, a.String()) {
				out = append(out, a.String())
			}
		}
	}
	return out
}

// isPod reports whether an address is of a pod, which is there.
func (g *generator) isPod(a netip.Addr) bool {
	return slices.Contains(g.families, familyOf(a)) && !slices.Contains(g.gone, a.String()) && slices.ContainsFunc(g.nodes, func(n node) bool { return n.holds(a) })
}

// stopPod has a pod go that is behind an endpoint, before or after the API says so.
func (g *generator) stopPod() {
	running := g.running()
	if len(running) == 0 {
		return
	}
	address := pick(&g.draw, running...)
	stop := scenarios.Step{Stop: []string{cmp.Or(g.called[address], address)}}
	g.gone = append(g.gone, address)
	changed := g.without(address)
	if g.in(1, 2) {
		g.apply(changed...)
		g.step(stop)
		return
	}
	g.step(stop)
	g.apply(changed...)
}

// without are the slices that have an address, as they are when it is gone.
func (g *generator) without(address string) []manifest.Object {
	var out []manifest.Object
	for _, slice := range g.slices {
		has := func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == address }
		if slices.ContainsFunc(slice.Endpoints, has) {
			changed := slice.DeepCopy()
			changed.Endpoints = slices.DeleteFunc(changed.Endpoints, has)
			out = append(out, g.note(object(changed)))
		}
	}
	return out
}

// startPod has a pod start with an address that another one had, behind whatever service.
func (g *generator) startPod() {
	s := g.anyService()
	if len(g.gone) == 0 || s == nil {
		return
	}
	i := g.below(len(g.gone))
	a := parse(g.gone[i])
	g.gone = slices.Delete(slices.Clone(g.gone), i, i+1)
	n := g.nodeOf(a)
	g.started++
	pod := scenarios.Pod{Name: fmt.Sprintf("again%d", g.started), Node: n.name, Addresses: []netip.Addr{a}}
	g.called[a.String()] = pod.Name
	for _, family := range g.families {
		if a.Is6() != (family == corev1.IPv6Protocol) { // of the other family it has one of its own
			pod.Addresses = append(pod.Addresses, parse(podAddress(family, n.number, 200+g.started)))
		}
	}
	g.step(scenarios.Step{Start: []scenarios.Pod{pod}})
	for _, slice := range g.slicesFor(s) {
		if (slice.AddressType == discoveryv1.AddressTypeIPv6) == a.Is6() {
			if hasAddress(slice, a.String()) {
				return
			}
			slice = slice.DeepCopy()
			e := discoveryv1.Endpoint{Addresses: []string{a.String()}, Conditions: g.conditions(4), NodeName: &n.name}
			slice.Endpoints = append(slice.Endpoints, e)
			g.apply(g.note(object(slice)))
			return
		}
	}
}

// nodeOf is the node whose pods have addresses such as this one.
func (g *generator) nodeOf(a netip.Addr) node {
	return g.nodes[slices.IndexFunc(g.nodes, func(n node) bool { return n.holds(a) })]
}

// holds reports whether an address is of the node's podCIDRs.
func (n node) holds(a netip.Addr) bool {
	return netip.PrefixFrom(parse(podAddress(corev1.IPv4Protocol, n.number, 0)), 24).Contains(a) ||
		netip.PrefixFrom(parse(podAddress(corev1.IPv6Protocol, n.number, 0)), 64).Contains(a)
}
