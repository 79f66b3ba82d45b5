package ailments

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// bits are the prefix lengths of a network of one of the ward's links, and of a host.
func bits(v6, host bool) int {
	switch {
	case v6 && host:
		return 128
	case v6:
		return 64
	case host:
		return 32
	}
	return 24
}

// settings are the settings of every machine: addresses count at once, and nothing asks or limits by itself.
func settings(forwards bool) []string {
	forwarding := 0
	if forwards {
		forwarding = 1
	}
	return []string{
		fmt.Sprintf("net.ipv4.ip_forward=%d", forwarding), fmt.Sprintf("net.ipv6.conf.all.forwarding=%d", forwarding),
		"net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0",
		"net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.default.send_redirects=0",
		"net.ipv4.icmp_ratemask=0", "net.ipv6.icmp.ratelimit=0",
		"net.ipv6.conf.default.accept_ra=0", "net.ipv6.conf.default.dad_transmits=0", "net.ipv6.conf.default.router_solicitations=0",
	}
}

// script are the lines for ip(8) in one namespace.
type script struct {
	families Families
	lines    []string
}

func (s *script) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// address gives a device an address in its network, or alone.
func (s *script) address(device string, at pair, alone bool) {
	for _, v6 := range s.families.each() {
		flags := ""
		if v6 {
			flags = " nodad"
		}
		s.add("addr add %s/%d dev %s%s", at.of(v6), bits(v6, alone), device, flags)
	}
}

// route has a network behind a gateway.
func (s *script) route(to, via pair, more string) {
	for _, v6 := range s.families.each() {
		dst := to.of(v6)
		if dst == "default" && v6 {
			dst = "::/0"
		}
		s.add("route add %s via %s%s", dst, via.of(v6), more)
	}
}

// wire makes a device whose other end is eth0 of another machine.
func (w *Ward) wire(s *script, from, device string, mtu int, to string) {
	near, far := w.nextMAC(from, device), w.nextMAC(to, "eth0")
	s.add("link add %s address %s mtu %d type veth peer name eth0 address %s mtu %d netns %s", device, near, mtu, far, mtu,
		w.machines[to].Path())
}

var everywhere = pair{"default", "default"}

// build makes all machines and joins them.
func (w *Ward) build() error {
	for _, name := range append([]string{"router", "outside", "node1", "node2"}, podNames()...) {
		m, err := newMachine(name, w.Dialect)
		if err != nil {
			return err
		}
		w.machines[name] = m
	}
	if err := w.buildRouter(); err != nil {
		return err
	}
	errs := make([]error, 2)
	for n := range errs {
		errs[n] = w.buildNode(n + 1)
	}
	return errors.Join(append(errs, w.buildPods(), w.buildOutside(), w.introduce())...)
}

func podNames() []string {
	var out []string
	for _, p := range places {
		out = append(out, p.name)
	}
	return out
}

// buildRouter makes the router, whose bridge is the nodes' network.
func (w *Ward) buildRouter() error {
	s := &script{families: w.Families}
	s.add("link set lo up")
	s.add("link add lan address %s type bridge", w.nextMAC("router", "lan"))
	s.add("link set lan up")
	s.address("lan", nodeAt(0), false)
	for n := 1; n <= 2; n++ {
		w.wire(s, "router", fmt.Sprintf("port%d", n), 1500, fmt.Sprintf("node%d", n))
		s.add("link set port%d master lan up", n)
	}
	w.wire(s, "router", "wan", 1500, "outside")
	s.add("link set wan up")
	s.address("wan", routerOutside, false)
	s.route(balancers, nodeAt(1), "")
	routes := append(settings(true), "net.bridge.bridge-nf-call-iptables=0", "net.bridge.bridge-nf-call-ip6tables=0")
	return w.machines["router"].configure(routes, s.lines)
}

func (w *Ward) buildOutside() error {
	s := &script{families: w.Families}
	s.add("link set lo up")
	s.add("link set eth0 up")
	s.address("eth0", outsideAt, false)
	s.route(everywhere, routerOutside, "")
	return w.machines["outside"].configure(settings(false), s.lines)
}

// buildNode makes a node with its ends of the pods' devices.
func (w *Ward) buildNode(n int) error {
	s := &script{families: w.Families}
	s.add("link set lo up")
	s.add("link set eth0 up")
	s.address("eth0", nodeAt(n), false)
	s.route(everywhere, nodeAt(0), "")
	if w.Layout.onBridge() {
		s.add("link add cni0 address %s mtu %d type bridge", w.nextMAC(fmt.Sprintf("node%d", n), "cni0"), w.Layout.mtu())
		s.add("link set cni0 up")
		s.address("cni0", podAt(n, 1), false)
	}
	for _, p := range places {
		if p.node != n {
			continue
		}
		w.wire(s, fmt.Sprintf("node%d", n), p.wire(), w.Layout.mtu(), p.name)
		w.joinPod(s, p)
	}
	other := 3 - n
	if w.Layout == Overlay {
		w.overlay(s, n, other)
	} else {
		s.route(podsOf(other), nodeAt(other), "")
	}
	m := w.machines[fmt.Sprintf("node%d", n)]
	if err := m.configure(settings(true), s.lines); err != nil {
		return err
	}
	return w.forwardingEntry(m, other)
}

// joinPod is a node's side of a pod's link.
func (w *Ward) joinPod(s *script, p place) {
	if w.Layout.onBridge() {
		s.add("link set %s master cni0 up", p.wire())
		s.add("link set %s type bridge_slave hairpin on", p.wire())
		return
	}
	s.add("link set %s up", p.wire())
	s.address(p.wire(), podAt(p.node, 1), true)
	for _, v6 := range w.Families.each() {
		s.add("route add %s/%d dev %s", podAt(p.node, p.host).of(v6), bits(v6, true), p.wire())
	}
}

// overlayMAC is the hardware address of a node's end of the overlay.
func overlayMAC(n int) string { return fmt.Sprintf("02:c4:00:00:01:%02x", n) }

// overlayAt is a node's address on the overlay, the first one of its pods' network as flannel has it.
func overlayAt(n int) pair {
	return pair{fmt.Sprintf("10.244.%d.0", n), fmt.Sprintf("fd00:10:244:%d::", n)}
}

// overlay joins two nodes by VXLAN, as flannel does: a route on the overlay, a neighbour, and an entry of the forwarding database.
func (w *Ward) overlay(s *script, n, other int) {
	under := w.Families == V6
	s.add("link add flannel.1 address %s mtu %d type vxlan id 1 local %s dev eth0 dstport 8472 nolearning", overlayMAC(n), w.Layout.mtu(),
		nodeAt(n).of(under))
	s.add("link set flannel.1 up")
	s.address("flannel.1", overlayAt(n), true)
	for _, v6 := range w.Families.each() {
		s.add("neigh add %s lladdr %s dev flannel.1 nud permanent", overlayAt(other).of(v6), overlayMAC(other))
	}
	s.route(podsOf(other), overlayAt(other), " dev flannel.1 onlink")
}

// forwardingEntry says where the other end of the overlay is.
func (w *Ward) forwardingEntry(m *machine, other int) error {
	if w.Layout != Overlay {
		return nil
	}
	return m.run(fmt.Sprintf("bridge fdb append %s dev flannel.1 dst %s", overlayMAC(other), nodeAt(other).of(w.Families == V6)))
}

// buildPods gives the pods their addresses.
func (w *Ward) buildPods() error {
	var errs []error
	for _, p := range places {
		s := &script{families: w.Families}
		s.add("link set lo up")
		s.add("link set eth0 up")
		s.address("eth0", podAt(p.node, p.host), !w.Layout.onBridge())
		if !w.Layout.onBridge() {
			for _, v6 := range w.Families.each() {
				s.add("route add %s/%d dev eth0", podAt(p.node, 1).of(v6), bits(v6, true))
			}
		}
		s.route(everywhere, podAt(p.node, 1), " dev eth0")
		errs = append(errs, w.machines[p.name].configure(settings(false), s.lines))
	}
	return errors.Join(errs...)
}

// listen has the servers answer.
func (w *Ward) listen() error {
	for _, v6 := range w.Families.each() {
		for _, p := range places {
			at := netip.MustParseAddr(podAt(p.node, p.host).of(v6))
			if !strings.HasPrefix(p.name, "web") {
				continue
			}
			m := w.machines[p.name]
			err := errors.Join(m.serve(p.name, "tcp", netip.AddrPortFrom(at, 8080)), m.serve(p.name, "udp", netip.AddrPortFrom(at, 5353)))
			if err != nil {
				return err
			}
		}
		at := netip.MustParseAddr(nodeAt(2).of(v6))
		if err := w.machines["node2"].serve("agent", "tcp", netip.AddrPortFrom(at, 9100)); err != nil {
			return err
		}
	}
	return nil
}
