package live

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// findStale looks through the UDP connections that nodes remember for those that lead to no serving endpoint of the service port that they
// are for, or past the endpoints that there are.
func (e *exam) findStale() {
	for _, taken := range e.cluster.Snapshots {
		for i := range taken.Conntrack {
			c := &taken.Conntrack[i]
			if c.Original.Proto != inet.UDP || !e.hasFamily(c.Original.Dst) {
				continue
			}
			if f := e.stale(taken.Hostname, c); f != nil {
				e.addStale(f)
			}
		}
	}
}

func (e *exam) hasFamily(a netip.Addr) bool {
	return slices.ContainsFunc(e.topology.Nodes[0].Addresses, func(own netip.Addr) bool { return own.Is6() == a.Is6() })
}

// attemptOf is the attempt that a connection began with, by somebody in the client's place, and what would become of it.
func (e *exam) attemptOf(node string, c *snapshot.Connection, protocol corev1.Protocol) (oracle.Attempt, oracle.Answer) {
	a := oracle.Attempt{From: e.clientOf(node, c.Original.Src), Protocol: protocol, To: at(c.Original.Dst, c.Original.DstPort), Via: node}
	if e.topology.Pod(a.From) != nil || e.topology.Node(a.From) != nil {
		a.Via = ""
	}
	return a, e.spec.Expect(a)
}

// stale is what is wrong with a connection, nil if nothing is.
func (e *exam) stale(node string, c *snapshot.Connection) *Finding {
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
	clause := oracle.StaleUDPFlow
	got := fmt.Sprintf("%s remembers that it goes to %s", node, to)
	if !translated {
		got = node + " remembers that it goes there untranslated"
	}
	return &Finding{
		Service: answer.Service.String(), Clauses: []Broken{{Clause: clause.Name, Says: clause.Text, Source: clause.Source}},
		Remembered: []string{fmt.Sprintf("%s: conntrack -D -p udp --orig-src %s --orig-dst %s --sport %d --dport %d",
			node, c.Original.Src, c.Original.Dst, c.Original.SrcPort, c.Original.DstPort)},
		Suffering: 1, Packets: []Packet{{
			Packet: fmt.Sprintf("UDP %s from %s", a.To, netip.AddrPortFrom(c.Original.Src, c.Original.SrcPort)), Want: answer.String(), Got: got,
		}},
	}
}

func (e *exam) addStale(f *Finding) {
	i := slices.IndexFunc(e.report.Findings, func(old Finding) bool { return old.Service == f.Service && old.Remembered != nil })
	if i < 0 {
		e.report.Findings = append(e.report.Findings, *f)
		return
	}
	e.report.Findings[i].add(f)
	e.report.Findings[i].Remembered = append(e.report.Findings[i].Remembered, f.Remembered...)
}

// clientOf is who has an address, or somebody in the same place: a pod of the node, or a machine.
func (e *exam) clientOf(node string, a netip.Addr) string {
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
func (e *exam) serving(service, port string) []netip.AddrPort {
	var out []netip.AddrPort
	for _, s := range e.cluster.slices() {
		if s.Namespace+"/"+s.Labels[discoveryv1.LabelServiceName] != service {
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
