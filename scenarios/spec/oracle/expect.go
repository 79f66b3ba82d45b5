package oracle

import (
	"net/netip"
	"slices"
)

// question is an attempt with what is the same for every node that it passes.
type question struct {
	*Attempt
	client   *host
	from     netip.Addr
	protocol uint8
	// unmarked says that what is masqueraded has a mark by which FORWARD does not know it.
	unmarked bool
}

// Expect says what may become of an attempt, if no earlier connection is remembered.
// A client that does not exist may have any fate.
func (s *Spec) Expect(a Attempt) Answer { return s.expect(&a) }

func (s *Spec) expect(a *Attempt) Answer {
	q, ok := s.question(a)
	if !ok {
		return Answer{Open: true, odd: unknownClient}
	}
	client := q.client
	if a.To.Addr().IsLoopback() && client.kind != aNode || client.kind != aNode && q.from.IsLoopback() {
		return s.martian(&q)
	}
	first, second := s.network.hops(client, a)
	answer := s.on(&q, first, second)
	loosen(&answer)
	for i := range answer.Others {
		loosen(&answer.Others[i])
	}
	s.filtered(&answer, &q, first, second)
	s.mayBeFiltered(&answer, first, second)
	for i := range answer.Others {
		s.mayBeFiltered(&answer.Others[i], first, second)
	}
	return answer
}

// loosen leaves open what slices contradict each other about.
func loosen(a *Answer) {
	if a.Fate == ToEndpoint && a.port.doubt {
		a.Loose = true
	}
}

func (s *Spec) question(a *Attempt) (question, bool) {
	client := s.network.byName[a.From]
	if client == nil {
		return question{}, false
	}
	q := question{Attempt: a, client: client, from: client.source(a), protocol: protocolNumber(a.Protocol)}
	return q, q.from.IsValid()
}

// beyond is the answer for an attempt that the first node that it passes does not stop.
func (s *Spec) beyond(a *Attempt) Answer {
	q, ok := s.question(a)
	if !ok {
		return Answer{Open: true, odd: unknownClient}
	}
	first, second := s.network.hops(q.client, a)
	answer := s.onward(&q, first, second)
	s.filtered(&answer, &q, first, second)
	return answer
}

// untranslated is the answer for an attempt that no node translates.
func (s *Spec) untranslated(a *Attempt) Answer {
	q, ok := s.question(a)
	if !ok {
		return Answer{Open: true, odd: unknownClient}
	}
	first, second := s.network.hops(q.client, a)
	answer := s.untouched(&q, first)
	s.filtered(&answer, &q, first, second)
	return answer
}

// unmarked is the answer for an attempt that nodes mark in one way for masquerade, and let pass FORWARD by another.
func (s *Spec) unmarked(a *Attempt) Answer {
	q, ok := s.question(a)
	if !ok {
		return Answer{Open: true, odd: unknownClient}
	}
	q.unmarked = true
	first, second := s.network.hops(q.client, a)
	answer := s.on(&q, first, second)
	s.filtered(&answer, &q, first, second)
	return answer
}

// on is the answer of the first of two nodes that has one, otherwise that of a packet of no service.
func (s *Spec) on(q *question, first, second int) Answer {
	for _, node := range [2]int{first, second} {
		if node < 0 {
			continue
		}
		rest := -1
		if node == first {
			rest = second
		}
		if answer, decided := s.decide(q, node, rest); decided {
			return answer
		}
	}
	return s.untouched(q, first)
}

// decide is the answer of a node's proxy; it says nothing of packets of no service.
func (s *Spec) decide(q *question, node, next int) (Answer, bool) {
	known := s.known[node]
	k := known.spec.services
	found := k.places[place{q.To, q.protocol}]
	if known.spec.views[known.node].externalIPsOff {
		found = slices.DeleteFunc(slices.Clone(found), func(s served) bool { return s.kind == atExternalIP })
	}
	var ports []served
	if len(k.nodePorts) > 0 && (q.To.Addr().IsLoopback() || s.network.hosts[node].has(q.To.Addr())) {
		ports = k.nodePorts[portPlace{q.To.Port(), q.protocol, q.To.Addr().Is6()}]
	}
	switch {
	case len(found)+len(ports) == 0:
		return s.refuses(q, node)
	case len(found) == 1 && len(ports) == 0 && !found[0].doubtful:
		return s.answer(q, node, next, &found[0]), true
	}
	var all []Answer
	for i := range found {
		all = s.include(all, q, node, next, &found[i], found[i].doubtful)
	}
	if len(ports) > 0 {
		all = s.includeNodePorts(all, q, node, next, ports)
	}
	return together(all), true
}

// refuses is the answer of a node in mode nftables for a packet to a cluster IP that no service port has, or that no service has. False:
// the node says nothing of it.
func (s *Spec) refuses(q *question, node int) (Answer, bool) {
	known := s.known[node]
	k, v := known.spec.services, &known.spec.views[known.node]
	here := &s.network.hosts[node]
	if v.mode != NFTables || here.has(q.To.Addr()) || q.To.Addr().IsLoopback() {
		return Answer{}, false
	}
	if q.protocol == 0 && (q.Protocol != ICMP || k.clusterIPs[q.To.Addr()]) {
		return Answer{Open: true, odd: pingOfClusterIP}, q.Protocol == ICMP
	}
	a := Answer{Node: v.name, client: q.client, from: q.from, net: s.network, decide: here}
	switch {
	case k.clusterIPs[q.To.Addr()]:
		a.Fate, a.chosen = Reject, unusedPortRejected
	case contains(k.ranges, q.To.Addr()):
		a.Fate, a.chosen = Drop, unassignedIPDropped
	default:
		return a, false
	}
	return a, true
}

// includeNodePorts adds the answers of those who have a port on nodes.
func (s *Spec) includeNodePorts(all []Answer, q *question, node, next int, ports []served) []Answer {
	known := s.known[node]
	view := &known.spec.views[known.node]
	serves, unsure, why := view.nodePorts[family(q.To.Addr())].serves(q.To.Addr())
	for i := range ports {
		before := len(all)
		if serves {
			all = s.include(all, q, node, next, &ports[i], ports[i].doubtful)
			all[before].served = why
		}
		if serves && !unsure {
			continue
		}
		for _, a := range s.notServedHere(q, node, &ports[i], why) {
			if !serves || a.Fate != all[before].Fate {
				all = append(all, a)
			}
		}
	}
	return all
}

// notServedHere are the answers at an address of a node that serves no node ports.
func (s *Spec) notServedHere(q *question, node int, at *served, why *Clause) []Answer {
	a := s.untouched(q, node)
	a.served = why
	known := s.known[node]
	endpoints := at.port.usableOn(known.node, &known.spec.views[known.node])
	a.Loose = at.port.doubt // of what is said differently it is open whether it is usable
	blocked := a
	blocked.Node, blocked.chosen = known.spec.views[known.node].name, unservedNodePort
	switch {
	case known.spec.views[known.node].mode == NFTables: // its rules are for the addresses that serve node ports
		return []Answer{a}
	case !endpoints.any:
		blocked.Fate = Reject
	case at.port.externalLocal && len(endpoints.local) == 0:
		blocked.Fate = Drop
	default:
		return []Answer{a}
	}
	a.odd = unservedNodePort
	return []Answer{a, blocked}
}

// include adds the answer of a service port; one that is doubtful may not be there at all.
func (s *Spec) include(all []Answer, q *question, node, next int, at *served, doubtful bool) []Answer {
	all = append(all, s.answer(q, node, next, at))
	if doubtful {
		a, refused := s.refuses(q, node)
		if !refused {
			a = s.onward(q, node, next)
		}
		if at.doubtful {
			a.odd = staleField
		}
		all = append(all, a)
	}
	return all
}

// together makes one answer of several that are allowed.
func together(all []Answer) Answer {
	answer := all[0]
	if len(all) > 1 {
		answer.Others = append(append([]Answer(nil), answer.Others...), all[1:]...)
		if differentPorts(all) && answer.odd == nil {
			answer.odd = sameAddressConflict
		}
	}
	return answer
}

func differentPorts(all []Answer) bool {
	for i := range all {
		if all[i].port != nil && all[i].port != all[0].port {
			return true
		}
	}
	return false
}

// onward is what becomes of a packet that a node does not stop.
func (s *Spec) onward(q *question, node, next int) Answer {
	if next >= 0 {
		if answer, decided := s.decide(q, next, -1); decided {
			return answer
		}
	}
	return s.untouched(q, node)
}

// untouched is the answer for a packet of no service.
func (s *Spec) untouched(q *question, node int) Answer {
	a := Answer{Fate: Untouched, client: q.client, from: q.from, net: s.network}
	a.Host, a.End = s.network.ends(q.Protocol, q.To)
	if q.To.Addr().IsLoopback() {
		a.Host, a.End = q.client.name, q.client.takes(q.Protocol, q.To)
	}
	a.served = otherTraffic
	if node < 0 {
		return a
	}
	k := s.known[node].spec.services
	if q.Protocol == ICMP {
		a.served = pingUntouched
	} else if s.healthPort(q, a.Host) {
		a.served = healthPortOpen
	} else if why := k.left[place{q.To, q.protocol}]; why != nil {
		a.served = why
	}
	return a
}

// healthPort says whether a packet is for a health check node port of the node that has the address called, as that one knows it.
func (s *Spec) healthPort(q *question, called string) bool {
	h := s.network.byName[called]
	return h != nil && h.kind == aNode && s.known[h.node].spec.services.health[portPlace{q.To.Port(), q.protocol, q.To.Addr().Is6()}]
}

// answer is what a service port does with a packet on a node.
func (s *Spec) answer(q *question, node, next int, at *served) Answer {
	known := s.known[node]
	view := &known.spec.views[known.node]
	p := at.port
	a := Answer{
		Node: view.name, Service: p.service, Port: p.name,
		port: p, client: q.client, from: q.from, net: s.network, decide: &s.network.hosts[node], mode: view.mode,
	}
	if p.open {
		a.Open, a.odd = true, endpointIsDestination
	}
	endpoints := p.usableOn(known.node, view)
	local := view.detect.local(q.from, s.comesBy(q, node, view))
	if at.kind == atClusterIP {
		a.served = clusterIPServed
		internal(&a, endpoints, view, local)
		return a
	}
	a.served = [...]*Clause{atExternalIP: externalIPServed, atLoadBalancerIP: balancerServed, atNodePort: nodePortServed}[at.kind]
	if at.kind == atLoadBalancerIP && p.limited && !s.allowed(&a, view) {
		return s.blocked(&a, q, node, next, endpoints)
	}
	s.external(&a, q, node, next, endpoints, local)
	return a
}

// comesBy is the device by which a packet comes to a node, empty if the node sends it.
func (s *Spec) comesBy(q *question, node int, v *view) string {
	switch {
	case q.client.kind == aNode && q.client.node == node:
		return ""
	case q.client.kind == aPod && q.client.node == node:
		return q.client.device
	}
	return v.device
}

// internal answers for a cluster IP.
func internal(a *Answer, endpoints *usable, v *view, local bool) {
	p := a.port
	switch {
	case !endpoints.any:
		a.Fate, a.chosen = Reject, noEndpointRejects
		return
	case p.internalLocal && len(endpoints.local) == 0:
		a.Fate, a.chosen = Drop, internalLocalDrops
		return
	case p.internalLocal:
		a.to(endpoints.local, endpoints.whyLocal)
	default:
		a.to(endpoints.cluster, endpoints.whyCluster)
	}
	switch {
	case v.masqueradeAll:
		a.source, a.sourced = Masqueraded, masqueradeAll
	case !v.detect.works(p.v6):
		a.source, a.sourced = Kept, noDetector
	case local:
		a.source, a.sourced = Kept, podSourceKept
	default:
		a.source, a.sourced = Masqueraded, outsiderMasqueraded
	}
}

func (a *Answer) to(endpoints []netip.AddrPort, why *Clause) {
	a.Fate, a.Endpoints, a.chosen = ToEndpoint, endpoints, why
}

// external answers for the addresses by which a service is called from outside.
func (s *Spec) external(a *Answer, q *question, node, next int, endpoints *usable, local bool) {
	fromNode := a.decide.has(q.from) || q.from.IsLoopback()
	if a.port.doubt {
		s.mayLeaveTheNode(a, q, node, next)
	}
	switch {
	case !endpoints.any:
		a.Fate, a.chosen = Reject, noEndpointRejects
		s.mayLeaveTheNode(a, q, node, next)
	case !a.port.externalLocal:
		a.to(endpoints.cluster, endpoints.whyCluster)
		a.source, a.sourced = Masqueraded, externalMasqueraded
	case local:
		a.to(endpoints.cluster, endpoints.whyCluster)
		a.source, a.sourced = Kept, podShortCircuit
	case fromNode:
		a.to(endpoints.cluster, endpoints.whyCluster)
		a.source, a.sourced = Masqueraded, nodeShortCircuit
	case len(endpoints.local) == 0:
		a.Fate, a.chosen = Drop, externalLocalDrops
	default:
		a.to(endpoints.local, endpoints.whyLocal)
		a.source, a.sourced = Kept, externalLocalKept
	}
}

// mayLeaveTheNode allows for a packet that a node itself sends, and that no rule rejects there though there is no endpoint.
func (s *Spec) mayLeaveTheNode(a *Answer, q *question, node, next int) {
	if q.client.kind != aNode || q.client.node != node || q.To.Addr().IsLoopback() || a.decide.has(q.To.Addr()) {
		return
	}
	other := s.onward(q, node, next)
	other.odd = nodeToExternal
	a.Others = append(a.Others, other)
}

// allowed says whether source ranges let a client in.
func (s *Spec) allowed(a *Answer, v *view) bool {
	if contains(a.port.ranges, a.from) {
		a.odd = sourceRanges
		return true
	}
	if primary := v.primary[family(a.from)]; primary.IsValid() && contains(a.port.ranges, primary) {
		for _, own := range a.port.balancers {
			if own == a.from {
				a.odd = rangesOwnAddress
				return true
			}
		}
	}
	return false
}

// blocked answers a client that source ranges keep out.
func (s *Spec) blocked(a *Answer, q *question, node, next int, endpoints *usable) Answer {
	a.Fate, a.chosen = Drop, sourceRanges
	if !endpoints.any || a.port.doubt { // of which it is open whether one is usable
		other := *a
		s.external(&other, q, node, next, &usable{}, false)
		onward := other.Others
		other.Others = nil
		onward = append(onward, other)
		a.Others = onward
	}
	return *a
}

// martian is the answer for a packet that a node must not take from others.
func (s *Spec) martian(q *question) Answer {
	a := Answer{Fate: Drop, client: q.client, from: q.from, net: s.network, chosen: loopbackFromOutside}
	return a
}

// mayBeFiltered allows for what rules of others do.
func (s *Spec) mayBeFiltered(a *Answer, first, second int) {
	if a.served == healthPortOpen && s.modeOn(s.network.byName[a.Host].node) == IPTables {
		return
	}
	filters := func(node int) bool { return node >= 0 && s.views[node].filters }
	is := filters(first) || filters(second)
	if a.Fate == Untouched && a.Host != "" {
		is = is || filters(s.network.byName[a.Host].node)
	}
	for i := range a.Endpoints {
		if h := s.network.byAddr[a.Endpoints[i].Addr()]; h != nil {
			is = is || filters(h.node)
		}
	}
	if is {
		a.Loose, a.odd = true, filteredByOthers
	}
}
