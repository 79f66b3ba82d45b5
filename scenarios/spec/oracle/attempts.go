package oracle

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Attempts are the packets of every class that concerns the state: each kind of client to each
// kind of destination, those of no service too.
func (s *Spec) Attempts() []Attempt {
	c := s.classes()
	for _, p := range s.services.ports {
		c.port(p)
	}
	for key := range s.services.left {
		c.left = append(c.left, key)
	}
	slices.SortFunc(c.left, func(a, b place) int {
		if order := a.Compare(b.AddrPort); order != 0 {
			return order
		}
		return int(a.protocol) - int(b.protocol)
	})
	for _, key := range c.left {
		c.leftAlone(key)
	}
	c.noService()
	c.unassigned()
	return c.out
}

// Concerning are the Attempts that a change of these services can concern.
func (s *Spec) Concerning(services ...types.NamespacedName) []Attempt {
	c := s.classes()
	for _, p := range s.services.ports {
		if slices.Contains(services, p.service) {
			c.port(p)
		}
	}
	return c.out
}

// Martians are packets that no client's own routing would send: addressed to a node's loopback.
// Each is to be given to a device of the node Via: to the pod's if From is one of its pods, otherwise to the one on the underlay.
func (s *Spec) Martians() []Attempt {
	c := s.classes()
	for node := range s.views {
		for _, port := range []uint16{10249, s.someNodePort()} {
			if port == 0 {
				continue
			}
			for _, from := range append(slices.Clone(c.machines), c.plain[node]) {
				if from != nil && from.address(false).IsValid() {
					c.add(from, corev1.ProtocolTCP, netip.AddrPortFrom(loopback4, port), node)
				}
			}
		}
	}
	return c.out
}

func (s *Spec) someNodePort() uint16 {
	for _, p := range s.services.ports {
		if p.nodePort != 0 && p.protocol == corev1.ProtocolTCP && !p.v6 {
			return p.nodePort
		}
	}
	return 0
}

// classes makes attempts, one of each class.
type classes struct {
	*Spec
	plain    []*host // a pod on each node that is no endpoint, nil if there is none
	machines []*host
	left     []place
	seen     map[class]struct{}
	out      []Attempt
}

// class is an attempt, for looking it up.
type class struct {
	from *host
	to   place
	via  int
}

func (s *Spec) classes() *classes {
	c := &classes{Spec: s, plain: make([]*host, len(s.views)), seen: make(map[class]struct{}, 64)}
	endpoints := s.services.endpointAddresses()
	isEndpoint := func(h *host) bool {
		return slices.ContainsFunc(h.addresses, func(a netip.Addr) bool { return endpoints[a] })
	}
	for i := range s.network.hosts {
		switch h := &s.network.hosts[i]; {
		case h.kind == aMachine:
			c.machines = append(c.machines, h)
		case h.kind == aPod && (c.plain[h.node] == nil || isEndpoint(c.plain[h.node]) && !isEndpoint(h)):
			c.plain[h.node] = h
		}
	}
	return c
}

// endpointAddresses are the addresses of the endpoints of all services.
func (s *services) endpointAddresses() map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, p := range s.ports {
		for i := range p.endpoints {
			out[p.endpoints[i].at.Addr()] = true
		}
	}
	return out
}

// add adds an attempt once; the client must have an address of the family. What goes to an address that somebody has goes by no other node.
func (c *classes) add(from *host, protocol corev1.Protocol, to netip.AddrPort, via int) {
	if from == nil || !from.address(to.Addr().Is6()).IsValid() {
		return
	}
	if protocol == ICMP {
		to = netip.AddrPortFrom(to.Addr(), 0)
	}
	if from.kind != aMachine && (from.kind == aNode || !to.Addr().IsLoopback()) {
		via = -1
	}
	key := class{from, place{to, protocolNumber(protocol)}, via}
	if _, known := c.seen[key]; known {
		return
	}
	c.seen[key] = struct{}{}
	a := Attempt{From: from.name, Protocol: protocol, To: to}
	if via >= 0 {
		a.Via = c.views[via].name
	}
	c.out = append(c.out, a)
}

// port adds the classes of a service port.
func (c *classes) port(p *port) {
	addresses := append(append([]netip.Addr{p.clusterIP}, p.externalIPs...), p.balancers...)
	for i, a := range addresses {
		if slices.Index(addresses, a) < i {
			continue
		}
		c.everybody(p, netip.AddrPortFrom(a, p.number))
		c.besides(p, a)
	}
	if p.nodePort != 0 {
		c.nodePort(p)
	}
	if p.healthPort != 0 {
		c.atNodes(corev1.ProtocolTCP, p.healthPort, p.v6)
	}
	for i := range p.endpoints {
		c.add(c.plain[0], p.protocol, p.endpoints[i].at, 0)
	}
}

// everybody adds every kind of client to a place of a port: of each node a pod, the node itself and an endpoint; each machine by each node.
func (c *classes) everybody(p *port, to netip.AddrPort) {
	for node := range c.views {
		c.add(c.plain[node], p.protocol, to, 0)
		c.add(&c.network.hosts[node], p.protocol, to, 0)
		c.add(c.endpointOn(p, node), p.protocol, to, 0)
		for _, m := range c.machines {
			if node == 0 || c.network.byAddr[to.Addr()] == nil {
				c.add(m, p.protocol, to, node)
			}
		}
	}
}

// endpointOn is a pod on a node behind an endpoint of the port; nil if there is none.
func (c *classes) endpointOn(p *port, node int) *host {
	for i := range p.endpoints {
		if h := c.network.byAddr[p.endpoints[i].at.Addr()]; h != nil && h.kind == aPod && h.node == node {
			return h
		}
	}
	return nil
}

// besides adds what looks like a packet to the port and is none: another port, another protocol, an echo request.
func (c *classes) besides(p *port, a netip.Addr) {
	beside := p.number ^ 1
	if beside == 0 {
		beside = 2
	}
	c.add(c.plain[0], p.protocol, netip.AddrPortFrom(a, beside), 0)
	other := corev1.ProtocolUDP
	if p.protocol == corev1.ProtocolUDP {
		other = corev1.ProtocolTCP
	}
	c.add(c.plain[0], other, netip.AddrPortFrom(a, p.number), 0)
	c.add(c.plain[0], ICMP, netip.AddrPortFrom(a, 0), 0)
	c.add(&c.network.hosts[0], ICMP, netip.AddrPortFrom(a, 0), 0)
}

// nodePort adds the classes of a node port: from everywhere to each address of each node.
func (c *classes) nodePort(p *port) {
	for node := range c.views {
		h := &c.network.hosts[node]
		first := true
		for _, a := range h.addresses {
			if a.Is6() != p.v6 {
				continue
			}
			to := netip.AddrPortFrom(a, p.nodePort)
			c.add(h, p.protocol, to, node)
			for _, m := range c.machines {
				c.add(m, p.protocol, to, node)
			}
			if first {
				c.toNode(p, node, to)
			}
			first = false
		}
		c.add(h, p.protocol, netip.AddrPortFrom(loopbackOf(p.v6), p.nodePort), node)
	}
}

// toNode adds the clients that are pods and nodes.
func (c *classes) toNode(p *port, node int, to netip.AddrPort) {
	other := (node + 1) % len(c.views)
	c.add(c.plain[node], p.protocol, to, node)
	c.add(c.plain[other], p.protocol, to, node)
	c.add(c.endpointOn(p, node), p.protocol, to, node)
	c.add(c.endpointOn(p, other), p.protocol, to, node)
	c.add(&c.network.hosts[other], p.protocol, to, node)
}

func loopbackOf(v6 bool) netip.Addr {
	if v6 {
		return netip.IPv6Loopback()
	}
	return loopback4
}

// atNodes adds a machine and a pod that call a port of each node itself.
func (c *classes) atNodes(protocol corev1.Protocol, number uint16, v6 bool) {
	for node := range c.views {
		a := c.network.hosts[node].address(v6)
		if !a.IsValid() {
			continue
		}
		to := netip.AddrPortFrom(a, number)
		c.add(c.plain[node], protocol, to, node)
		if len(c.machines) > 0 {
			c.add(c.machines[0], protocol, to, node)
		}
	}
}

// leftAlone adds a pod, a node and a machine that call a place that looks like that of a service.
func (c *classes) leftAlone(key place) {
	protocol := [...]corev1.Protocol{1: corev1.ProtocolTCP, 2: corev1.ProtocolUDP, 3: corev1.ProtocolSCTP}[max(key.protocol, 1)]
	c.add(c.plain[0], protocol, key.AddrPort, 0)
	c.add(&c.network.hosts[0], protocol, key.AddrPort, 0)
	if len(c.machines) > 0 {
		c.add(c.machines[0], protocol, key.AddrPort, 0)
	}
}

// noService adds packets that no service is about: between pods, nodes and machines, in both families.
func (c *classes) noService() {
	const number = 9 // discard
	for _, v6 := range []bool{false, true} {
		to := func(h *host) netip.AddrPort { return netip.AddrPortFrom(h.address(v6), number) }
		for node := range c.views {
			other := (node + 1) % len(c.views)
			here, there := c.plain[node], c.plain[other]
			if there != nil && there.address(v6).IsValid() {
				c.add(here, corev1.ProtocolTCP, to(there), 0)
				c.add(&c.network.hosts[node], corev1.ProtocolUDP, to(there), 0)
				for _, m := range c.machines {
					c.add(m, corev1.ProtocolTCP, to(there), 0)
				}
			}
			if c.network.hosts[other].address(v6).IsValid() {
				c.add(here, corev1.ProtocolSCTP, to(&c.network.hosts[other]), 0)
				c.add(here, ICMP, to(&c.network.hosts[other]), 0)
			}
			for _, m := range c.machines {
				if m.address(v6).IsValid() {
					c.add(here, corev1.ProtocolTCP, to(m), 0)
					c.add(&c.network.hosts[node], corev1.ProtocolTCP, to(m), 0)
				}
			}
		}
	}
}

// unassigned adds a pod, a node and a machine that call an address of each range of cluster IPs that no service has.
func (c *classes) unassigned() {
	for _, r := range c.services.ranges {
		a := lastOf(r).Prev()
		for c.services.clusterIPs[a] {
			a = a.Prev()
		}
		if !r.Contains(a) {
			continue
		}
		to := netip.AddrPortFrom(a, 80)
		for node := range c.views {
			c.add(c.plain[node], corev1.ProtocolTCP, to, 0)
			c.add(&c.network.hosts[node], corev1.ProtocolUDP, to, 0)
		}
		for _, m := range c.machines {
			c.add(m, corev1.ProtocolTCP, to, 0)
		}
	}
}

// lastOf is the last address of a range.
func lastOf(r netip.Prefix) netip.Addr {
	bytes := r.Masked().Addr().AsSlice()
	for bit := r.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}
