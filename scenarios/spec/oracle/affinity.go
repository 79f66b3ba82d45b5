package oracle

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Affinity remembers which endpoints clients reached, as a service with session affinity
// ClientIP has to. Its zero value is ready for use.
type Affinity struct {
	clients map[affine][]memory
}

// affine is a client of a service port on a node. Ports of one service may remember apart (kubernetes#103000).
type affine struct {
	node     string
	service  types.NamespacedName
	port     string
	protocol corev1.Protocol
	client   netip.Addr
}

// memory is an endpoint that a client reached.
type memory struct {
	endpoint netip.AddrPort
	at       time.Time
	timeout  time.Duration
	// shaky says that it may be forgotten.
	shaky bool
}

// affinitySlack is what a timeout may be off by: the kernel counts in ticks of its own, rules in seconds.
const affinitySlack = time.Second

func affineOf(a *Answer) affine {
	return affine{a.Node, a.Service, a.Port, a.port.protocol, a.from}
}

// Made notes a connection that was kept (what is only asked leaves nothing behind).
func (m *Affinity) Made(s *Spec, a Attempt, way Way, at time.Time) { m.made(s, a, way, at, false) }

// MayHaveMade notes a packet of a kept connection that may have begun a new one.
func (m *Affinity) MayHaveMade(s *Spec, a Attempt, way Way, at time.Time) {
	m.made(s, a, way, at, true)
}

func (m *Affinity) made(s *Spec, a Attempt, way Way, at time.Time, shaky bool) {
	answer := s.expect(&a)
	if answer.port == nil || answer.port.affinity == 0 || !answer.port.isEndpoint(way.Server) {
		return
	}
	if m.clients == nil {
		m.clients = map[affine][]memory{}
	}
	key := affineOf(&answer)
	made := memory{endpoint: way.Server, at: at, timeout: answer.port.affinity, shaky: shaky}
	kept := slices.DeleteFunc(m.clients[key], func(old memory) bool { return old.endpoint == made.endpoint && (old.shaky || !shaky) })
	m.clients[key] = append(kept, made)
}

// Synced notes that the nodes know s from now on: what has stopped to be usable is no longer sure to be remembered.
func (m *Affinity) Synced(s *Spec) {
	for key, memories := range m.clients {
		p, endpoints := s.portOn(key)
		for i := range memories {
			old := &memories[i]
			old.shaky = old.shaky || p == nil || p.doubt || p.affinity != old.timeout || !endpoints.have(p, old.endpoint)
		}
	}
}

// portOn is the service port of a key, as the node knows it, with what is usable there; nil if there is none.
func (s *Spec) portOn(key affine) (*port, *usable) {
	node := s.place(key.node)
	if node < 0 {
		return nil, nil
	}
	known := s.known[node]
	for _, p := range known.spec.services.ports {
		if p.service == key.service && p.name == key.port && p.protocol == key.protocol && p.v6 == key.client.Is6() {
			return p, p.usableOn(known.node, &known.spec.views[known.node])
		}
	}
	return nil, nil
}

// Forget notes that a node's rules were gone, and with them what they remembered.
func (m *Affinity) Forget(node string) {
	for key, memories := range m.clients {
		for i := range memories {
			memories[i].shaky = memories[i].shaky || key.node == node
		}
	}
}

// Expect is Spec.Expect with what is remembered.
func (m *Affinity) Expect(s *Spec, a Attempt, at time.Time) Answer {
	answer := s.expect(&a)
	if len(m.clients) == 0 {
		return answer
	}
	others := answer.Others
	answer.Others = nil
	answer = m.remembered(answer, at)
	for _, other := range others { // of another service at the same address, which remembers its own clients
		other = m.remembered(other, at)
		again := other.Others
		other.Others = nil
		answer.Others = append(append(slices.Clip(answer.Others), other), again...)
	}
	return answer
}

// remembered is an answer with what its service remembers.
func (m *Affinity) remembered(answer Answer, at time.Time) Answer {
	if answer.port == nil || answer.port.affinity == 0 || answer.Fate != ToEndpoint {
		return answer
	}
	memories := m.clients[affineOf(&answer)]
	if len(memories) == 0 {
		return answer
	}
	var endpoints []netip.AddrPort
	sure := false
	for i := range memories {
		old := &memories[i]
		age := at.Sub(old.at)
		if age <= answer.port.affinity+affinitySlack && slices.Contains(answer.Endpoints, old.endpoint) {
			endpoints = append(endpoints, old.endpoint)
			// A longer one brings nothing back, and mode nftables makes the set of an endpoint's clients anew.
			remade := answer.mode == NFTables && old.timeout != answer.port.affinity
			sure = sure || !old.shaky && !remade && !answer.port.doubt && age < min(old.timeout, answer.port.affinity)-affinitySlack
		}
	}
	if len(endpoints) == 0 {
		answer.chosen = affinityEnds
		return answer
	}
	slices.SortFunc(endpoints, netip.AddrPort.Compare)
	endpoints = slices.Compact(endpoints)
	again := answer
	again.stopped = answer.stoppedOf(endpoints)
	again.Endpoints, again.remembered, again.chosen = endpoints, true, affinitySticks
	if sure {
		return again
	}
	again.odd = affinityForgotten
	answer.Others = append(slices.Clip(answer.Others), again)
	return answer
}

// Judge is Spec.Judge with what is remembered.
func (m *Affinity) Judge(s *Spec, a Attempt, at time.Time, ways []Way) []Violation {
	answer := m.Expect(s, a, at)
	return s.judge(&a, &answer, ways)
}
