package gen

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
)

// farFlow is how steps call the connection of a client to an outsider.
const farFlow = "far"

// talkFar has the first client pod talk to an outsider at a port of the number that a UDP node port has. It returns false if there is none.
func (g *generator) talkFar() bool {
	port := g.udpNodePort()
	if port == 0 {
		return false
	}
	family := g.families[0]
	to := netip.AddrPortFrom(parse(outsiders[family]), uint16(port))
	name := scenarios.FamilyIPv4
	if family == corev1.IPv6Protocol {
		name = scenarios.FamilyIPv6
	}
	g.out.IPTables.Preload = append(g.out.IPTables.Preload, scenarios.Preload{Family: name, Save: fmt.Sprintf(
		"*nat\n-A POSTROUTING -d %s -p udp -m udp --dport %d -j MASQUERADE\nCOMMIT\n", to.Addr(), port,
	)})
	g.step(scenarios.Step{Connect: &scenarios.Connect{
		From: g.out.Topology.Pods[0].Name, To: scenarios.Target{Proto: "udp", AddrPort: to}, As: farFlow,
		Expect: scenarios.Expect{Endpoints: scenarios.Shares{{Endpoint: to, Chance: big.NewRat(1, 1)}}, Source: scenarios.Source{Masqueraded: true}},
	}})
	return true
}

// answerFar has the outsider go on talking after each thing that happens, until the flow may be forgotten.
func (g *generator) answerFar() {
	var out []scenarios.Step
	for i := range g.out.Steps {
		s := g.out.Steps[i]
		out = append(out, s)
		if s.Advance == nil && (s.Fault == nil || s.Fault.RestoreTakes == nil) {
			out = append(out, scenarios.Step{Flow: &scenarios.FlowPacket{
				Of: farFlow, From: scenarios.SideServer, Expect: scenarios.Expect{Delivered: true},
			}})
			continue
		}
		out = append(out, g.out.Steps[i+1:]...)
		break
	}
	g.out.Steps = out
}

func (g *generator) udpNodePort() int32 {
	for _, s := range g.services {
		i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolUDP && p.NodePort != 0 })
		if i >= 0 {
			return s.Spec.Ports[i].NodePort
		}
	}
	return 0
}

func otherFamily(family corev1.IPFamily) corev1.IPFamily {
	if family == corev1.IPv6Protocol {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func familyOf(a netip.Addr) corev1.IPFamily {
	if a.Is6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}
