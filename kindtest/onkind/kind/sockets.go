package kind

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
)

// sockets are where the agents of a session listen. A pod or machine that listens on every port does so on those that are called.
type sockets struct {
	backend *Backend
	cluster *scenarios.Cluster
	mapping *Mapping
	wanted  map[agent][]probe.Listener
	dirty   map[agent]bool
	checks  map[uint16]bool // health check ports, where the proxies listen themselves
}

// nodesOwn are ports where a node's kubelet and proxy listen, whatever a scenario says.
var nodesOwn = []uint16{10248, 10249, 10250, 10256}

// agent is an agent and the machine that it is on.
type agent struct{ machine, name string }

func newSockets(b *Backend, c *scenarios.Cluster, m *Mapping) *sockets {
	return &sockets{
		backend: b, cluster: c, mapping: m, wanted: map[agent][]probe.Listener{}, dirty: map[agent]bool{}, checks: map[uint16]bool{},
	}
}

// open makes the processes listen that the topology gives.
func (s *sockets) open(ctx context.Context) error {
	for _, o := range s.cluster.Objects {
		if service, ok := o.Object.(*corev1.Service); ok && service.Spec.HealthCheckNodePort > 0 {
			s.checks[uint16(service.Spec.HealthCheckNodePort)] = true
		}
	}
	for i := range s.cluster.Nodes {
		n := &s.cluster.Nodes[i]
		s.listen(n.Name, n.Listen, nil)
	}
	for i := range s.cluster.Pods {
		s.listen(s.cluster.Pods[i].Name, s.cluster.Pods[i].Listen, s.cluster.Pods[i].Addresses)
	}
	for i := range s.cluster.Outside {
		s.listen(s.cluster.Outside[i].Name, s.cluster.Outside[i].Listen, s.cluster.Outside[i].Addresses)
	}
	return s.serve(ctx)
}

// listen adds what a host listens on: at the addresses given, where the listener has none of its own, or at all.
func (s *sockets) listen(name string, listeners []scenarios.Listener, at []netip.Addr) {
	for _, l := range listeners {
		addresses := at
		switch {
		case l.Addr.IsValid():
			addresses = []netip.Addr{l.Addr}
		case len(at) == 0:
			addresses = []netip.Addr{}
			for _, v6 := range families(s.cluster.IPFamily) {
				addresses = append(addresses, unspecified(v6))
			}
		}
		for _, a := range addresses {
			s.add(name, probe.Listener{Proto: protoOf(l.Proto, a), Addr: s.mapping.To(a), Port: l.Port})
		}
	}
}

func unspecified(v6 bool) netip.Addr {
	if v6 {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// protoOf is a protocol as packets have it.
func protoOf(name string, a netip.Addr) inet.Proto {
	switch name {
	case "udp":
		return inet.UDP
	case "sctp":
		return inet.SCTP
	case "icmp":
		if a.Is6() {
			return inet.ICMPv6
		}
		return inet.ICMP
	}
	return inet.TCP
}

// add makes a host listen once serve is called.
func (s *sockets) add(name string, l probe.Listener) {
	host, ok := s.mapping.Host(name)
	onNode := s.cluster.Node(name) != nil && l.Proto == inet.TCP
	if !ok || onNode && (s.checks[l.Port] || slices.Contains(nodesOwn, l.Port)) {
		return
	}
	at := agent{host.Machine, host.Agent}
	if !slices.Contains(s.wanted[at], l) {
		s.wanted[at] = append(s.wanted[at], l)
		s.dirty[at] = true
	}
}

// everyPort makes the owner of an address listen on a port of it, if it is one that listens on all of them.
func (s *sockets) everyPort(of netip.Addr, proto string, port uint16) {
	name := s.mapping.Owner(of)
	if pod := s.cluster.Pod(name); pod != nil && pod.Listen != nil {
		return
	}
	all := s.cluster.Pod(name) != nil
	for i := range s.cluster.Outside {
		all = all || s.cluster.Outside[i].Name == name && s.cluster.Outside[i].Listen == nil
	}
	if all || proto == protoICMP && name != "" {
		s.add(name, probe.Listener{Proto: protoOf(proto, of), Addr: s.mapping.To(of), Port: port})
	}
}

// noteSlice makes the pods and machines behind endpoints listen.
func (s *sockets) noteSlice(slice *discoveryv1.EndpointSlice) {
	for _, p := range slice.Ports {
		if p.Port == nil {
			continue
		}
		proto := "tcp"
		if p.Protocol != nil {
			proto = map[corev1.Protocol]string{corev1.ProtocolTCP: "tcp", corev1.ProtocolUDP: "udp", corev1.ProtocolSCTP: "sctp"}[*p.Protocol]
		}
		for i := range slice.Endpoints {
			for _, text := range slice.Endpoints[i].Addresses {
				s.everyPort(parse(text), proto, uint16(*p.Port))
			}
		}
	}
}

// serve has the agents listen where they should by now.
func (s *sockets) serve(ctx context.Context) error {
	var agents []agent
	for at := range s.dirty {
		agents = append(agents, at)
	}
	clear(s.dirty)
	return together(agents, func(at agent) error {
		listeners := s.wanted[at]
		if at.name == s.backend.facts.Outside.Name {
			listeners = append(slices.Clone(listeners), s.backend.sentinel.listeners()...)
		}
		return s.backend.relays[at.machine].Serve(ctx, at.name, listeners)
	})
}

// clear forgets where an agent listened.
func (s *sockets) clear(at agent) {
	s.wanted[at] = []probe.Listener{}
	delete(s.dirty, at)
}

// close ends what the agents of the scenario's hosts have open, with kept connections.
func (s *sockets) close(ctx context.Context) error {
	clear(s.wanted)
	return together(s.mapping.agents(), func(at agent) error {
		if err := s.backend.relays[at.machine].Reset(ctx, at.name); err != nil {
			return err
		}
		if at.name == s.backend.facts.Outside.Name {
			return s.backend.relays[at.machine].Serve(ctx, at.name, s.backend.sentinel.listeners())
		}
		return nil
	})
}
