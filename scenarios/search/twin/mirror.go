package twin

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// mirrored is a scenario of IPv4 in IPv6; nil where something of it has no counterpart.
func mirrored(s *scenarios.Scenario) *scenarios.Scenario {
	if s.Topology.IPFamily != scenarios.FamilyIPv4 && s.Topology.IPFamily != "" || len(s.IPTables.Preload) > 0 || !plainlyConfigured(s) {
		return nil
	}
	m := mirror{ok: true}
	out := mapObjects(s, m.object, func(r manifest.Ref) manifest.Ref { return r })
	out.Topology.IPFamily = scenarios.FamilyIPv6
	out.Topology.Nodes = mapEach(s.Topology.Nodes, m.node)
	out.Topology.Pods = mapEach(s.Topology.Pods, m.pod)
	out.Topology.Outside = mapEach(s.Topology.Outside, func(machine scenarios.Machine) scenarios.Machine {
		machine.Addresses, machine.Listen = mapEach(machine.Addresses, m.addr), mapEach(machine.Listen, m.listener)
		return machine
	})
	out.Steps = mapEach(out.Steps, m.step)
	if !m.ok {
		return nil
	}
	return out
}

var ipv4Text = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`)

// plainlyConfigured reports whether no configuration names addresses, but for the pods' range that every scenario has.
func plainlyConfigured(s *scenarios.Scenario) bool {
	c, err := scenarios.ResolveWith(s, controller.New)
	if err != nil {
		return false
	}
	for i := range s.Steps {
		if s.Steps[i].Configure != nil {
			return false
		}
	}
	for _, config := range c.Configs {
		if len(config.NodePortAddresses) > 0 && !slices.Equal(config.NodePortAddresses, []string{"primary"}) ||
			ipv4Text.MatchString(config.BindAddress) || config.ClusterCIDR != "10.244.0.0/16" {
			return false
		}
	}
	return true
}

// mirror puts the words of IPv6 for those of IPv4. ok says that there was one for each.
type mirror struct{ ok bool }

// The networks whose addresses a scenario chooses by itself have those that it would choose in IPv6.
func (m *mirror) addr(a netip.Addr) netip.Addr { return mirrorOf(a) }

func mirrorOf(a netip.Addr) netip.Addr {
	if !a.Is4() {
		return a
	}
	b := a.As4()
	var out [16]byte
	switch {
	case a.IsLoopback():
		return netip.IPv6Loopback()
	case b[0] == 192 && b[1] == 168 && b[2] == 0:
		out = [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: b[3]}
	case b[0] == 10 && b[1] == 244:
		out = [16]byte{0xfd, 0x00, 0x00, 0x10, 0x02, 0x44, 0x00, b[2], 15: b[3]}
	default:
		out = [16]byte{0xfd, 0x44, b[0], b[1], b[2], b[3], 15: 1}
	}
	return netip.AddrFrom16(out)
}

// prefix is a network. One that has only a part of those above in it, or more, has no counterpart.
func (m *mirror) prefix(p netip.Prefix) netip.Prefix {
	if !p.Addr().Is4() {
		return p
	}
	a, b, bits := mirrorOf(p.Addr()), p.Addr().As4(), p.Bits()
	switch {
	case bits == 0:
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	case bits == 32:
		return netip.PrefixFrom(a, 128)
	case b[0] == 192 && b[1] == 168 && b[2] == 0 && bits >= 24, b[0] == 10 && b[1] == 244 && bits > 24:
		if bits == 24 {
			return netip.PrefixFrom(a, 64).Masked()
		}
		return netip.PrefixFrom(a, 96+bits).Masked()
	case b[0] == 10 && b[1] == 244 && bits >= 16:
		return netip.PrefixFrom(a, 40+bits).Masked()
	case p.Overlaps(netip.MustParsePrefix("192.168.0.0/24")), p.Overlaps(netip.MustParsePrefix("10.244.0.0/16")):
		m.ok = false
	}
	return netip.PrefixFrom(a, 16+bits).Masked()
}

// text is an address or a network as an object has it. One of the other family counts for nothing there, and would count in the mirror.
func (m *mirror) text(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		m.ok = m.ok && a.Is4()
		return m.addr(a).String()
	}
	if p, err := netip.ParsePrefix(strings.TrimSpace(s)); err == nil {
		m.ok = m.ok && p.Addr().Is4()
		return m.prefix(p).String()
	}
	m.ok = m.ok && !ipv4Text.MatchString(s) // a spelling of its own
	return s
}

func (m *mirror) listener(l scenarios.Listener) scenarios.Listener {
	l.Addr = m.addr(l.Addr)
	return l
}

func (m *mirror) node(n scenarios.Node) scenarios.Node {
	m.ok = m.ok && len(n.ExtraAddresses) == 0 // the families choose among several addresses by rules of their own
	n.Addresses = mapEach(n.Addresses, m.addr)
	n.PodCIDRs, n.Listen = mapEach(n.PodCIDRs, m.prefix), mapEach(n.Listen, m.listener)
	return n
}

func (m *mirror) pod(p scenarios.Pod) scenarios.Pod {
	p.Name, p.Addresses, p.Listen = m.text(p.Name), mapEach(p.Addresses, m.addr), mapEach(p.Listen, m.listener)
	return p
}

func (m *mirror) object(o manifest.Object) manifest.Object {
	switch old := o.Object.(type) {
	case *corev1.Service:
		o.Object = m.service(old.DeepCopy())
	case *discoveryv1.EndpointSlice:
		s := old.DeepCopy()
		m.ok = m.ok && s.AddressType == discoveryv1.AddressTypeIPv4
		s.AddressType = discoveryv1.AddressTypeIPv6
		for i := range s.Endpoints {
			s.Endpoints[i].Addresses = mapEach(s.Endpoints[i].Addresses, m.text)
		}
		o.Object = s
	case *corev1.Node:
		n := old.DeepCopy()
		n.Spec.PodCIDR, n.Spec.PodCIDRs = m.text(n.Spec.PodCIDR), mapEach(n.Spec.PodCIDRs, m.text)
		for i := range n.Status.Addresses {
			n.Status.Addresses[i].Address = m.text(n.Status.Addresses[i].Address)
		}
		o.Object = n
	case *corev1.Pod:
		p := old.DeepCopy()
		p.Status.PodIP = m.text(p.Status.PodIP)
		for i := range p.Status.PodIPs {
			p.Status.PodIPs[i].IP = m.text(p.Status.PodIPs[i].IP)
		}
		o.Object = p
	case *networkingv1.ServiceCIDR:
		m.ok = false // which of its addresses nobody has is another one in each family
	}
	return o
}

func (m *mirror) service(s *corev1.Service) *corev1.Service {
	spec := &s.Spec
	for i, family := range spec.IPFamilies {
		m.ok = m.ok && family == corev1.IPv4Protocol
		spec.IPFamilies[i] = corev1.IPv6Protocol
	}
	if spec.ClusterIP != corev1.ClusterIPNone {
		spec.ClusterIP, spec.ClusterIPs = m.text(spec.ClusterIP), mapEach(spec.ClusterIPs, m.text)
	}
	spec.ExternalIPs, spec.LoadBalancerIP = mapEach(spec.ExternalIPs, m.text), m.text(spec.LoadBalancerIP)
	spec.LoadBalancerSourceRanges = mapEach(spec.LoadBalancerSourceRanges, m.text)
	for i := range s.Status.LoadBalancer.Ingress {
		ip := &s.Status.LoadBalancer.Ingress[i].IP
		*ip = m.text(*ip)
	}
	m.ok = m.ok && !slices.ContainsFunc(annotations(s), ipv4Text.MatchString)
	return s
}

func annotations(s *corev1.Service) []string {
	var out []string
	for _, text := range s.Annotations {
		out = append(out, text)
	}
	return out
}

func (m *mirror) step(s scenarios.Step) scenarios.Step {
	s.Start, s.Stop = mapEach(s.Start, m.pod), mapEach(s.Stop, m.text)
	if s.Node != nil {
		change := *s.Node
		change.Addresses = mapEach(change.Addresses, m.addr)
		s.Node = &change
	}
	if s.Fault != nil {
		fault := *s.Fault
		if fault.Family != "" {
			fault.Family = scenarios.FamilyIPv6
		}
		fault.Run = mapEach(fault.Run, func(line string) string {
			m.ok = m.ok && !ipv4Text.MatchString(line) && !strings.HasPrefix(line, "nft ")
			return strings.Replace(line, "iptables", "ip6tables", 1)
		})
		s.Fault = &fault
	}
	return s
}
