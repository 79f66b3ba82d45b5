package gen

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
)

// farName is how steps call the connection of a client to an outsider.
const farName = "far"

// farFlow makes that connection, and what is sent on it.
type farFlow struct {
	cluster *cluster
	course  *course
	out     *scenarios.Scenario
}

// talk has the first client pod talk to an outsider at a port of the number that a UDP node port has. It returns false if there is none.
func (f *farFlow) talk() bool {
	port := f.udpNodePort()
	if port == 0 {
		return false
	}
	family := f.cluster.families[0]
	to := netip.AddrPortFrom(parse(outsiders[family]), uint16(port))
	name := scenarios.FamilyIPv4
	if family == corev1.IPv6Protocol {
		name = scenarios.FamilyIPv6
	}
	f.out.IPTables.Preload = append(f.out.IPTables.Preload, scenarios.Preload{Family: name, Save: fmt.Sprintf(
		"*nat\n-A POSTROUTING -d %s -p udp -m udp --dport %d -j MASQUERADE\nCOMMIT\n", to.Addr(), port,
	)})
	f.course.step(scenarios.Step{Connect: &scenarios.Connect{
		From: f.out.Topology.Pods[0].Name, To: scenarios.Target{Proto: "udp", AddrPort: to}, As: farName,
		Expect: scenarios.Expect{Endpoints: scenarios.Shares{{Endpoint: to, Chance: big.NewRat(1, 1)}},
			Source: scenarios.Source{Masqueraded: true}},
	}})
	return true
}

// answer has the outsider go on talking after each thing that happens, until the flow may be forgotten.
func (f *farFlow) answer() {
	var out []scenarios.Step
	for i := range f.course.steps {
		s := f.course.steps[i]
		out = append(out, s)
		if s.Advance == nil && (s.Fault == nil || s.Fault.RestoreTakes == nil) {
			out = append(out, scenarios.Step{Flow: &scenarios.FlowPacket{
				Of: farName, From: scenarios.SideServer, Expect: scenarios.Expect{Delivered: true},
			}})
			continue
		}
		out = append(out, f.course.steps[i+1:]...)
		break
	}
	f.course.steps = out
}

func (f *farFlow) udpNodePort() int32 {
	for _, s := range f.cluster.services {
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
