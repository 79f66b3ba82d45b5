package packetsim

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// errGroupUnknown ends a walk.
var errGroupUnknown = errors.New(
	"not supported: whether a program of the host has joined the multicast group is not known, since snapshots do not say it (ip maddr show)")

// The groups that the kernel is in by itself on each device: all hosts of IPv4, all nodes of IPv6, and all routers where it forwards IPv6.
var (
	allHosts   = netip.AddrFrom4([4]byte{224, 0, 0, 1})
	allNodes   = []netip.Addr{scopedGroup(1, 1), scopedGroup(2, 1)}
	allRouters = []netip.Addr{scopedGroup(1, 2), scopedGroup(2, 2), scopedGroup(5, 2)}
)

// scopedGroup is ffSCOPE::NUMBER.
func scopedGroup(scope, number byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xff, 1: scope, 15: number})
}

// groupScope is the scope of an IPv6 group: 1 is the device, 2 the link.
func groupScope(group netip.Addr) byte { return group.As16()[1] & 0xf }

// isMember says whether the host takes what comes by the device for a group (ip_check_mc_rcu in net/ipv4/igmp.c, ipv6_chk_mcast_addr in
// net/ipv6/mcast.c). An error says that nobody has told what programs have joined.
func (h *routing) isMember(dev *device, group netip.Addr) (bool, error) {
	if h.kernelJoins(dev, group) || slices.Contains(dev.Groups, group) {
		return true, nil
	}
	if dev.Groups == nil {
		return false, fmt.Errorf("%w: %s, %s", errGroupUnknown, dev.Name, group)
	}
	return false, nil
}

// kernelJoins says whether the kernel is in a group by itself.
func (h *routing) kernelJoins(dev *device, group netip.Addr) bool {
	switch {
	case group == allHosts, slices.Contains(allNodes, group):
		return true
	case !group.Is6(), dev.Name == loopbackName:
		return false
	case h.conf.forwarding6 && slices.Contains(allRouters, group):
		return true
	}
	return slices.ContainsFunc(dev.Addresses, func(a Address) bool { return a.Prefix.Addr().Is6() && solicited(a.Prefix.Addr()) == group })
}

// solicited is the group in which neighbours are asked for an IPv6 address.
func solicited(addr netip.Addr) netip.Addr {
	group := [16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff}
	unicast := addr.As16()
	copy(group[13:], unicast[13:])
	return netip.AddrFrom16(group)
}

// goesToMany says whether the IPv4 address is a group or everybody on a link, which a sender's address leads to and no route.
func goesToMany(dst netip.Addr) bool {
	return dst.Is4() && (dst.IsMulticast() || dst == limitedBroadcast)
}

// pathToMany is the way of a packet of the host to a group or to all on the device's link. What goes to all by lo is for the host itself.
func pathToMany(dev *device, dst netip.Addr) path {
	if dst.IsMulticast() {
		return path{out: dev, nextHop: dst, typ: RouteMulticast}
	}
	return path{out: dev, nextHop: dst, typ: RouteBroadcast, local: dev.Name == loopbackName}
}

// isToMany says whether the path is that of a packet to a group or to all on a link.
func (p *path) isToMany() bool { return p.typ == RouteBroadcast || p.typ == RouteMulticast }

// deviceOf is the device that has an IPv4 address of the host (__ip_dev_find in net/ipv4/devinet.c), or nil.
func (h *routing) deviceOf(addr netip.Addr) *device {
	for _, dev := range h.devices {
		if dev.Has(addr) {
			return dev
		}
	}
	if local := h.fib4.tables[TableLocal]; local != nil {
		if r := local.lookup(&flow{dst: addr}); r != nil && r.Type == RouteLocal {
			return r.dev
		}
	}
	return nil
}

// routeGroup routes a packet to a group that came in (ip_mc_validate_source in net/ipv4/route.c, ip6_mc_input in net/ipv6/ip6_input.c).
func (h *routing) routeGroup(p *inet.Packet, in *device) (to path, err error) {
	to = path{local: true, typ: RouteMulticast}
	member, err := h.isMember(in, p.Dst)
	switch {
	case err != nil:
		return path{}, err
	case !member:
		return path{}, ReasonNotMember
	case p.Is6():
		return to, nil
	case p.Src.IsMulticast(), p.Src == limitedBroadcast, p.Src.IsLoopback() && !in.conf.routeLocalnet,
		p.Src.IsUnspecified() && !p.Dst.IsLinkLocalMulticast():
		return path{}, ReasonMartianSource
	case p.Src.IsUnspecified():
		return to, nil
	}
	to.realms, err = h.validateSource(p, in, "")
	return to, err
}

// hears says whether the host itself is one of those that its packet by the device of its path is for (RTCF_LOCAL in net/ipv4/route.c). It
// does not hear what it sends by a tunnel (setup_udp_tunnel_sock in net/ipv4/udp_tunnel_core.c).
func (w *walk) hears(s *skb) bool {
	switch {
	case !s.Dst.IsMulticast():
		return true
	case s.Carried != nil:
		return false
	}
	member, err := w.h.isMember(s.path.out, s.Dst)
	if err != nil {
		w.fail(err)
	}
	return member
}

// leavesForMany says whether the host's packet leaves for several machines. IPv6 asks for the address alone, whatever the route.
func (s *skb) leavesForMany() bool {
	return s.path.out.Name != loopbackName && (s.path.isToMany() || s.Is6() && s.Dst.IsMulticast())
}

// sendToMany takes a packet of the host to a group or to everybody on, behind OUTPUT. The host's own sockets get a copy, in IPv4 before
// (ip_mc_output in net/ipv4/ip_output.c) and in IPv6 behind POSTROUTING (ip6_finish_output2 in net/ipv6/ip6_output.c).
func (w *walk) sendToMany(s *skb) {
	if s.Is6() && !w.pass(s, postRouting, s.held, s.path.out) {
		return
	}
	hears := w.hears(s)
	if hears {
		w.loop(s)
	}
	if w.err != nil || w.endsHere(s, hears) || !s.Is6() && !w.pass(s, postRouting, nil, s.path.out) {
		return
	}
	w.leave(s)
}

// endsHere drops a packet to a group that the host hears itself and whose hop limit is 0, or that is for the device alone.
func (w *walk) endsHere(s *skb, hears bool) bool {
	switch {
	case !s.Dst.IsMulticast():
		return false
	case hears && s.HopLimit() == 0:
		w.drop(ReasonTTLExceeded)
	case s.Is6() && groupScope(s.Dst) <= 1:
		w.drop(ReasonOwnGroup)
	default:
		return false
	}
	return true
}

// loop gives the host's own sockets a copy of a packet to many. It belongs to the packet's connection, and to no socket. That of a packet
// whose route was not looked up for the group, as that of TEE, ends with this route.
func (w *walk) loop(s *skb) {
	p := *s
	p.Socket, p.shared = &inet.Socket{None: true}, true
	w.answers.emit(Reply{Packet: p.Packet, Copy: true, Looped: true}, &p, func(sub *walk) {
		if !sub.pass(&p, postRouting, nil, p.path.out) {
			return
		}
		p.in, p.Socket, p.looped, p.path.local = p.path.out, nil, true, p.path.isToMany()
		sub.answers.copied = false // it waits in a queue until TEE is done (netif_rx), and may be copied
		sub.receive(&p)
	})
}
