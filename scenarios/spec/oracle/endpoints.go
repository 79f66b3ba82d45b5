package oracle

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// endpoint is an endpoint of a port.
type endpoint struct {
	at       netip.AddrPort
	node     string
	ready    bool
	serving  bool
	draining bool // it serves while it terminates
	ending   bool // it terminates, serving or not
	forZones []discoveryv1.ForZone
	forNodes []discoveryv1.ForNode
	// other is what another slice says of the same endpoint, if that is not the same.
	other *endpoint
}

// yes reads a condition: what is not given is what the API says of it.
func yes(condition *bool, notGiven bool) bool {
	if condition == nil {
		return notGiven
	}
	return *condition
}

// join takes the endpoints of all slices of the service.
func (p *port) join(slices []*discoveryv1.EndpointSlice) {
	p.slices = slices
	for _, slice := range slices {
		if why := p.refuses(slice); why != nil {
			p.note(why)
			continue
		}
		for i := range slice.Ports {
			if number := p.matches(&slice.Ports[i]); number != 0 {
				p.take(slice, number)
			} else {
				p.note(portNamesMatch)
			}
		}
	}
	if len(slices) > 1 {
		p.note(slicesAreJoined)
	}
}

// refuses says why nothing of a slice counts for the port; nil if it does.
func (p *port) refuses(slice *discoveryv1.EndpointSlice) *Clause {
	if _, other := slice.Labels[labelProxyName]; other {
		return otherProxy
	}
	if _, headless := slice.Labels[labelHeadless]; headless {
		return headlessLabel
	}
	wanted := discoveryv1.AddressTypeIPv4
	if p.v6 {
		wanted = discoveryv1.AddressTypeIPv6
	}
	if slice.AddressType != wanted {
		return slicesOfOneFamily
	}
	return nil
}

// matches returns the number of a slice's port if it is the same port, otherwise 0.
func (p *port) matches(ep *discoveryv1.EndpointPort) uint16 {
	name, protocol := "", corev1.ProtocolTCP
	if ep.Name != nil {
		name = *ep.Name
	}
	if ep.Protocol != nil {
		protocol = *ep.Protocol
	}
	if name != p.name || protocol != p.protocol || ep.Port == nil {
		return 0
	}
	return uint16(*ep.Port)
}

// take takes the endpoints of a slice.
func (p *port) take(slice *discoveryv1.EndpointSlice, number uint16) {
	for i := range slice.Endpoints {
		given := &slice.Endpoints[i]
		if len(given.Addresses) == 0 {
			continue
		}
		a := address(given.Addresses[0])
		if !a.IsValid() || a.Is6() != p.v6 {
			continue
		}
		p.spelled(given.Addresses[0])
		if len(given.Addresses) > 1 {
			p.note(firstAddressOnly)
		}
		p.addEndpoint(newEndpoint(netip.AddrPortFrom(a, number), given))
	}
}

func newEndpoint(at netip.AddrPort, given *discoveryv1.Endpoint) endpoint {
	e := endpoint{
		at: at, ready: yes(given.Conditions.Ready, true), serving: yes(given.Conditions.Serving, true),
	}
	e.ending = yes(given.Conditions.Terminating, false)
	e.draining = e.serving && e.ending
	if given.NodeName != nil {
		e.node = *given.NodeName
	}
	if given.Hints != nil {
		e.forZones, e.forNodes = given.Hints.ForZones, given.Hints.ForNodes
	}
	return e
}

// addEndpoint adds an endpoint once.
func (p *port) addEndpoint(e endpoint) {
	for i := range p.endpoints {
		known := &p.endpoints[i]
		if known.at != e.at {
			continue
		}
		if known.same(&e) {
			p.note(countedOnce)
			return
		}
		e.other, known.other = known.other, &e
		p.doubt = true
		p.note(conflictingDuplicates)
		return
	}
	p.endpoints = append(p.endpoints, e)
}

func (e *endpoint) same(o *endpoint) bool {
	return e.ready == o.ready && e.serving == o.serving && e.draining == o.draining && e.node == o.node &&
		slices.Equal(e.forZones, o.forZones) && slices.Equal(e.forNodes, o.forNodes)
}

func (e *endpoint) isForZone(zone string) bool {
	return slices.ContainsFunc(e.forZones, func(z discoveryv1.ForZone) bool { return z.Name == zone })
}

func (e *endpoint) isForNode(node string) bool {
	return slices.ContainsFunc(e.forNodes, func(n discoveryv1.ForNode) bool { return n.Name == node })
}

// usable are the endpoints that a node may use.
type usable struct {
	known bool
	// any says that some node could use one.
	any bool
	// cluster are the endpoints under policy Cluster, local under policy Local; whyCluster and whyLocal say why.
	cluster, local       []netip.AddrPort
	whyCluster, whyLocal *Clause
}

// have says whether an endpoint is usable under a policy that the port has for some packets.
func (u *usable) have(p *port, e netip.AddrPort) bool {
	external := p.nodePort > 0 || len(p.externalIPs)+len(p.balancers) > 0
	anywhere, here := !p.internalLocal || external, p.internalLocal || p.externalLocal
	return anywhere && slices.Contains(u.cluster, e) || here && slices.Contains(u.local, e)
}

// usableOn chooses the endpoints that a node may use.
func (p *port) usableOn(node int, v *view) *usable {
	u := &p.sets[node]
	if u.known {
		return u
	}
	u.known = true
	if p.doubt {
		p.everyVersion(u)
		return u
	}
	u.cluster, u.whyCluster = p.choose(v, false)
	u.local, u.whyLocal = p.choose(v, true)
	u.any = len(u.cluster) > 0
	return u
}

// choose are the endpoints of a policy: those that are ready, nearest first if they are told apart, and where there are none those that
// serve while they terminate.
func (p *port) choose(v *view, local bool) ([]netip.AddrPort, *Clause) {
	here := func(e *endpoint) bool { return !local || e.node == v.name }
	ready := p.those(func(e *endpoint) bool { return e.ready && here(e) })
	if len(ready) == 0 {
		return p.those(func(e *endpoint) bool { return e.draining && here(e) }), terminatingFallback
	}
	if local {
		return ready, localEndpoints
	}
	return p.nearest(v, ready)
}

// nearest are the ready endpoints that hints give to the node, if hints are complete.
func (p *port) nearest(v *view, ready []netip.AddrPort) ([]netip.AddrPort, *Clause) {
	hinted, allNodes, allZones := false, v.nodeHints, v.zone != ""
	for i := range p.endpoints {
		e := &p.endpoints[i]
		if e.ready {
			hinted = hinted || len(e.forNodes) > 0 || len(e.forZones) > 0
			allNodes = allNodes && len(e.forNodes) > 0
			allZones = allZones && len(e.forZones) > 0
		}
	}
	if allNodes {
		if near := p.those(func(e *endpoint) bool { return e.ready && e.isForNode(v.name) }); len(near) > 0 {
			return near, nodeHints
		}
	}
	if allZones {
		if near := p.those(func(e *endpoint) bool { return e.ready && e.isForZone(v.zone) }); len(near) > 0 {
			return near, zoneHints
		}
	}
	if hinted {
		return ready, incompleteHints
	}
	return ready, readyEndpoints
}

func (p *port) those(wanted func(*endpoint) bool) []netip.AddrPort {
	out := make([]netip.AddrPort, 0, len(p.endpoints))
	for i := range p.endpoints {
		if wanted(&p.endpoints[i]) {
			out = append(out, p.endpoints[i].at)
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return out
}

// everyVersion takes all endpoints that any slice's word makes usable.
func (p *port) everyVersion(u *usable) {
	u.cluster = p.those(func(e *endpoint) bool {
		for ; e != nil; e = e.other {
			if e.ready || e.draining {
				return true
			}
		}
		return false
	})
	u.local, u.any = u.cluster, len(u.cluster) > 0
	u.whyCluster, u.whyLocal = conflictingDuplicates, conflictingDuplicates
}

// serving says whether an endpoint is one that can take packets, wherever it is and whether or not a first one would go there.
func (p *port) serving(at netip.AddrPort) bool {
	for i := range p.endpoints {
		if p.endpoints[i].at == at {
			return p.endpoints[i].ready || p.endpoints[i].serving
		}
	}
	return false
}
