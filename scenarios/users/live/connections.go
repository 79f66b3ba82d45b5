package live

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// findStale looks through the UDP connections that nodes remember for those that lead to no serving endpoint of the service port that they
// are for, or past the endpoints that there are.
func (e *exam) findStale(g *groups) {
	for _, taken := range e.cluster.Snapshots {
		if !e.walked(taken.Hostname) {
			continue
		}
		for i := range taken.Conntrack {
			c := &taken.Conntrack[i]
			if c.Original.Proto != inet.UDP || !e.hasFamily(c.Original.Dst) {
				continue
			}
			if s := e.stale(taken.Hostname, c); s != nil {
				g.forget(taken.Hostname, s)
			}
		}
	}
}

func (e *premises) hasFamily(a netip.Addr) bool {
	return slices.ContainsFunc(e.topology.Nodes[0].Addresses, func(own netip.Addr) bool { return own.Is6() == a.Is6() })
}

// attemptOf is the attempt that a connection began with, by somebody in the client's place, and what would become of it.
func (e *exam) attemptOf(node string, c *snapshot.Connection, protocol corev1.Protocol) (oracle.Attempt, oracle.Answer) {
	a := oracle.Attempt{From: e.clientOf(node, c.Original.Src), Protocol: protocol, To: at(c.Original.Dst, c.Original.DstPort), Via: node}
	if e.isInside(a.From) {
		a.Via = ""
	}
	return a, e.spec.Expect(a)
}

// stale is a connection that suffers from what a node remembers, and how the node forgets it.
type stale struct {
	*suffering
	packet Packet
	forget string
}

// stale is what is wrong with a connection, nil if nothing is.
func (e *exam) stale(node string, c *snapshot.Connection) *stale {
	a, answer := e.attemptOf(node, c, corev1.ProtocolUDP)
	if answer.Service.Name == "" || answer.Open {
		return nil
	}
	to := at(c.Reply.Src, c.Reply.SrcPort)
	serving := e.serving(answer.Service.String(), answer.Port)
	translated := to != a.To
	if translated && slices.Contains(serving, to) || !translated && answer.Fate == oracle.Drop {
		return nil
	}
	got := fmt.Sprintf("%s remembers that it goes to %s", node, to)
	if !translated {
		got = node + " remembers that it goes there untranslated"
	}
	wrong := oracle.Violation{Clause: oracle.StaleUDPFlow, Attempt: a, Want: answer.String(), Got: got}
	return &stale{
		suffering: &suffering{errand: errand{attempt: a}, answer: answer, wrong: []oracle.Violation{wrong}},
		packet: Packet{
			Packet: fmt.Sprintf("UDP %s from %s", a.To, netip.AddrPortFrom(c.Original.Src, c.Original.SrcPort)), Want: wrong.Want, Got: got,
		},
		forget: fmt.Sprintf("conntrack -D -p udp --orig-src %s --orig-dst %s --sport %d --dport %d",
			c.Original.Src, c.Original.Dst, c.Original.SrcPort, c.Original.DstPort),
	}
}

// forget adds a connection that a node should forget.
func (g *groups) forget(node string, s *stale) {
	one := g.of(string(cause.ConntrackStale))
	if one.Code == "" {
		one.Cause = cause.Cause{
			Code: cause.ConntrackStale, What: "conntrack entries of UDP",
			Says: "Connections of UDP are remembered that lead to no endpoint of their service.", Remedy: s.forget,
		}
	}
	one.nodes[node] = true
	one.Remembered = append(one.Remembered, node+": "+s.forget)
	one.counts(g.exam, s.suffering)
	if len(one.Packets) < shownPackets {
		one.Packets = append(one.Packets, s.packet)
	}
}

// clientOf is who has an address, or somebody in the same place: a pod of the node, or a machine.
func (e *premises) clientOf(node string, a netip.Addr) string {
	for i := range e.topology.Nodes {
		n := &e.topology.Nodes[i]
		if slices.Contains(n.Addresses, a) || slices.Contains(n.ExtraAddresses, a) {
			return n.Name
		}
	}
	inPods := slices.ContainsFunc(e.topology.Node(node).PodCIDRs, func(p netip.Prefix) bool { return p.Contains(a) })
	beside := ""
	for i := range e.topology.Pods {
		p := &e.topology.Pods[i]
		if slices.Contains(p.Addresses, a) {
			return p.Name
		}
		if p.Node == node && slices.ContainsFunc(p.Addresses, func(own netip.Addr) bool { return own.Is6() == a.Is6() }) {
			beside = p.Name
		}
	}
	if inPods && beside != "" {
		return beside
	}
	if len(e.topology.Outside) == 0 {
		return node
	}
	return e.topology.Outside[0].Name
}

// serving are the endpoints of a service port that serve, terminating or not, wherever they are.
func (e *premises) serving(service, port string) []netip.AddrPort {
	var out []netip.AddrPort
	for _, s := range e.cluster.slices() {
		if serviceOf(s) != service {
			continue
		}
		for _, p := range s.Ports {
			if p.Port == nil || p.Name == nil || *p.Name != port {
				continue
			}
			for i := range s.Endpoints {
				out = append(out, servingAt(&s.Endpoints[i], uint16(*p.Port))...)
			}
		}
	}
	return out
}

// serviceOf is the NAMESPACE/NAME of the service that a slice is of.
func serviceOf(s *discoveryv1.EndpointSlice) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

func servingAt(e *discoveryv1.Endpoint, port uint16) []netip.AddrPort {
	serving := e.Conditions.Ready == nil || *e.Conditions.Ready
	if e.Conditions.Serving != nil {
		serving = *e.Conditions.Serving
	}
	var out []netip.AddrPort
	for _, text := range e.Addresses {
		if a, ok := parse(text); ok && serving {
			out = append(out, netip.AddrPortFrom(a, port))
		}
	}
	return out
}
