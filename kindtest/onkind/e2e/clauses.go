package main

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	netutils "k8s.io/utils/net"

	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// clause is what a probe asks about, where the modes of a proxy are known to answer differently.
type clause string

// The clauses. A probe may be about several.
const (
	localhostNodePort clause = "a node port at a loopback address"
	otherNodePort     clause = "a node port at an address of the node that is not its primary one"
	unusedPort        clause = "a port of a cluster IP that no service has there"
	unallocatedIP     clause = "a cluster IP that no service has"
	invalidPacket     clause = "a TCP segment that conntrack takes for invalid"
)

// moment is a check of a scenario: the number of its step, counted from 1, and where it is written. A table may be used in several steps.
type moment struct {
	step int
	at   string
}

// asked says what the probes of a scenario ask about. What objects and configurations say counts as it is at each step.
type asked struct {
	cluster  *scenarios.Cluster
	services map[manifest.Ref]*corev1.Service
	kept     map[string][]clause
	to       map[string]scenarios.Target // of the kept connections
	number   int                         // of the step
	clauses  map[moment][]clause
}

// clausesOf are the clauses of a scenario's probes.
func clausesOf(s *scenarios.Scenario) map[moment][]clause {
	c, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return nil // it says so itself when it runs
	}
	a := &asked{
		cluster: c, services: map[manifest.Ref]*corev1.Service{}, kept: map[string][]clause{}, to: map[string]scenarios.Target{},
		clauses: map[moment][]clause{},
	}
	a.apply(c.Objects)
	for i := range s.Steps {
		a.number = i + 1
		a.step(&s.Steps[i])
	}
	return a.clauses
}

func (a *asked) apply(objects []manifest.Object) {
	for _, o := range objects {
		if service, ok := o.Object.(*corev1.Service); ok {
			a.services[o.Ref()] = service
		}
	}
}

func (a *asked) step(s *scenarios.Step) {
	a.apply(s.Apply)
	for _, ref := range s.Delete {
		delete(a.services, ref.Ref)
	}
	if s.Restart != nil && s.Configure != nil {
		for _, name := range s.Restart.Names {
			a.cluster.Configure(name, s.Configure)
		}
		for name := range a.cluster.Configs {
			if s.Restart.All {
				a.cluster.Configure(name, s.Configure)
			}
		}
	}
	if s.Connect != nil {
		a.connect(s.Connect)
		a.note(s.Pos.String(), a.kept[s.Connect.As]) // where no connection could be kept
	}
	for i := range s.Cases {
		a.connect(&s.Cases[i])
	}
	if f := s.Flow; f != nil {
		// It may end the connection, too: its other end resets what it does not know.
		if f.Send == scenarios.PacketOutOfWindow && !slices.Contains(a.kept[f.Of], invalidPacket) {
			a.kept[f.Of] = append(slices.Clone(a.kept[f.Of]), invalidPacket)
		}
		a.note(f.Expect.Pos.String(), a.kept[f.Of])
		if to := a.to[f.Of]; to.Proto == "udp" { // of which nodes forget connections, so that a datagram is a first packet again
			a.note(f.Expect.Pos.String(), a.of(to.Proto, to.AddrPort))
		}
		a.note(s.Pos.String(), a.kept[f.Of]) // where nothing could be sent
	}
	if in := s.Send; in != nil {
		p := &in.Packet.Input
		a.note(in.Expect.Pos.String(), a.of(p.Proto.String(), netip.AddrPortFrom(p.Dst, p.DstPort)))
		if p.Proto == inet.TCP && p.TCPFlags != inet.SYN { // of no connection that is known
			a.note(in.Expect.Pos.String(), []clause{invalidPacket})
		}
	}
}

func (a *asked) connect(c *scenarios.Connect) {
	clauses := a.of(c.To.Proto, c.To.AddrPort)
	a.note(c.Expect.Pos.String(), clauses)
	if c.As != "" {
		a.kept[c.As], a.to[c.As] = clauses, c.To
	}
}

func (a *asked) note(at string, clauses []clause) {
	for _, c := range clauses {
		if m := (moment{a.number, at}); !slices.Contains(a.clauses[m], c) {
			a.clauses[m] = append(a.clauses[m], c)
		}
	}
}

// of are the clauses of a first packet.
func (a *asked) of(proto string, to netip.AddrPort) []clause {
	at := to.Addr().Unmap()
	switch {
	case a.isUnallocated(at):
		return []clause{unallocatedIP}
	case a.isUnused(proto, at, to.Port()):
		return []clause{unusedPort}
	case !a.isNodePort(proto, to.Port()):
		return nil
	case at.IsLoopback():
		return []clause{localhostNodePort}
	case a.isOther(at):
		return []clause{otherNodePort}
	}
	return nil
}

// isUnallocated reports whether an address is the cluster IP of a service that the scenario has had or will have, and of none that is
// there and that kube-proxy serves: it does not know those of another proxy (KEP-2447).
func (a *asked) isUnallocated(at netip.Addr) bool {
	if !slices.Contains(a.cluster.ServiceIPs, at) {
		return false
	}
	for _, s := range a.services {
		if _, another := s.Labels[labelProxyName]; !another && slices.Contains(clusterIPs(s), at) {
			return false
		}
	}
	return true
}

// isUnused reports whether an address is a cluster IP whose service does not have the port. Echo requests have none.
func (a *asked) isUnused(proto string, at netip.Addr, port uint16) bool {
	if port == 0 {
		return false
	}
	found := false
	for _, s := range a.services {
		if !slices.Contains(clusterIPs(s), at) {
			continue
		}
		found = true
		if slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return protoOfPort(&p) == proto && p.Port == int32(port) }) {
			return false
		}
	}
	return found
}

// labelProxyName on a Service hands it over to another proxy.
const labelProxyName = "service.kubernetes.io/service-proxy-name"

func (a *asked) isNodePort(proto string, port uint16) bool {
	for _, s := range a.services {
		if slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
			return protoOfPort(&p) == proto && p.NodePort > 0 && p.NodePort == int32(port)
		}) {
			return true
		}
	}
	return false
}

// isOther reports whether an address is one of a node, and not its primary one: a further one, or that by which its pods know it. A node
// that is told where its node ports are is told so in every mode.
func (a *asked) isOther(at netip.Addr) bool {
	for i := range a.cluster.Nodes {
		n := &a.cluster.Nodes[i]
		if len(a.cluster.Configs[n.Name].NodePortAddresses) > 0 {
			continue
		}
		gateway := slices.ContainsFunc(n.PodCIDRs, func(p netip.Prefix) bool { return p.Masked().Addr().Next() == at })
		first := slices.IndexFunc(n.Addresses, func(own netip.Addr) bool { return own.Is6() == at.Is6() })
		further := first >= 0 && slices.Contains(n.Addresses[first+1:], at)
		if gateway || further || slices.Contains(n.ExtraAddresses, at) {
			return true
		}
	}
	return false
}

func clusterIPs(s *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, text := range append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...) {
		if at, ok := netip.AddrFromSlice(netutils.ParseIPSloppy(text)); ok {
			out = append(out, at.Unmap())
		}
	}
	return out
}

// protoOfPort is a service port's protocol as scenarios write it.
func protoOfPort(p *corev1.ServicePort) string {
	switch p.Protocol {
	case corev1.ProtocolUDP:
		return "udp"
	case corev1.ProtocolSCTP:
		return "sctp"
	}
	return "tcp"
}
