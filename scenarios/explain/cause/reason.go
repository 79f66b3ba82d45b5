package cause

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// reason is what the kernel stopped the packet for without a rule.
func (s *setting) reason() Cause {
	reason := s.outcome.Reason
	switch reason {
	case packetsim.ReasonForwardingOff:
		return s.forwardingOff()
	case packetsim.ReasonReversePath:
		return s.reversePath()
	case packetsim.ReasonLoopbackLeaves:
		return s.localnet()
	case packetsim.ReasonMartianDestination, packetsim.ReasonMartianSource, packetsim.ReasonBadAddress:
		return s.martian()
	case packetsim.ReasonNoRoute:
		return s.noRoute()
	case packetsim.ReasonRouteUnreachable, packetsim.ReasonRouteProhibited, packetsim.ReasonRouteBlackhole:
		c := s.cause(RouteRefuses, s.routeTo(s.outcome.Packet.Dst), "%s has a route for %s that refuses packets (%s)", s.host,
			s.outcome.Packet.Dst, reason)
		c.Remedy = "ip route get " + s.outcome.Packet.Dst.String()
		return c
	case packetsim.ReasonTTLExceeded:
		c := s.cause(Loop, s.routeTo(s.outcome.Packet.Dst), "%s goes round between hosts until its TTL has run out", s.about)
		c.Remedy = "ip route get " + s.outcome.Packet.Dst.String()
		return c
	case packetsim.ReasonDeviceDown:
		return s.down()
	case packetsim.ReasonConntrackFull:
		c := s.cause(ConntrackFull, s.switched("net.netfilter.nf_conntrack_max", "(not in the snapshot)"),
			"conntrack of %s is full: it takes no new connection", s.host)
		c.Remedy = "raise net.netfilter.nf_conntrack_max (kube-proxy: conntrack.maxPerCore)"
		return c
	case packetsim.ReasonConntrackClash, packetsim.ReasonPortsExhausted:
		c := s.cause(PortsExhausted, "the ports of masqueraded connections to "+s.destination(),
			"%s finds no free port to masquerade another connection to %s", s.host, s.destination())
		c.Remedy = "conntrack -L -d " + s.outcome.Packet.Dst.String() + ": fewer connections, more source addresses, or a wider range of ports"
		return c
	case packetsim.ReasonNoSource, packetsim.ReasonNoMasqueradeAddress:
		return s.cause(NoSource, "the addresses of "+s.host, "%s has no address to send %s from", s.host, s.about)
	case packetsim.ReasonTooLong, packetsim.ReasonNoSegmentFits:
		return s.tooLong()
	case packetsim.ReasonNoRemote, packetsim.ReasonNoPort:
		return s.noNeighbour()
	case packetsim.ReasonNoHairpin:
		return s.hairpin()
	}
	return s.cause(Unexplained, string(reason), "%s ends at %s: %s", s.about, s.host, reason)
}

// destination is where the packet was to go, with its port.
func (s *setting) destination() string {
	p := &s.outcome.Packet
	if p.DstPort == 0 {
		return p.Dst.String()
	}
	return netip.AddrPortFrom(p.Dst, p.DstPort).String()
}

// conf is the sysctl of a device of the packet's family, by its last word.
func (s *setting) conf(device, word string) string {
	if s.in.Dst.Is6() {
		return "net.ipv6.conf." + device + "." + word
	}
	return "net.ipv4.conf." + device + "." + word
}

func (s *setting) forwardingOff() Cause {
	if s.node == nil && !s.in.Local {
		c := s.cause(Astray, s.routeTo(s.outcome.Packet.Dst), "%s gets %s for %s, an address that it does not have", s.host, s.about,
			s.outcome.Packet.Dst)
		c.Remedy = "ip route get " + s.outcome.Packet.Dst.String() + ", on the host before"
		return c
	}
	key := "net.ipv4.ip_forward"
	if s.in.Dst.Is6() {
		key = "net.ipv6.conf.all.forwarding"
	}
	// A device may be set apart from the others.
	if own := s.conf(s.in.In, "forwarding"); !s.in.Dst.Is6() {
		all, _ := s.sysctl(key)
		if one, ok := s.sysctl(own); ok && one == "0" && all == "1" {
			key = own
		}
	}
	c := s.cause(ForwardingOff, s.switched(key, "0"), "%s does not forward packets, and %s is for another host", s.host, s.about)
	c.Remedy = "sysctl -w " + key + "=1"
	return c
}

// reversePath is rp_filter: the greater of the value for all devices and the device's own counts (IN_DEV_RPFILTER in
// include/linux/inetdevice.h).
func (s *setting) reversePath() Cause {
	key := s.conf(s.in.In, "rp_filter")
	all := s.conf("all", "rp_filter")
	if one, _ := s.sysctl(key); one != "1" {
		key = all
	}
	c := s.cause(ReversePath, s.switched(key, "1"),
		"%s comes to %s by %s, and the route back to %s is another: the reverse path filter drops it",
		s.about, s.host, s.in.In, s.in.Src)
	c.Remedy = "sysctl -w " + key + "=2, or a route to " + s.in.Src.String() + " by " + s.in.In
	return c
}

func (s *setting) localnet() Cause {
	key := s.conf("all", "route_localnet")
	c := s.cause(RouteLocalnet, s.switched(key, "0"), "%s does not route packets with a loopback address, which %s has", s.host, s.about)
	c.Remedy = "sysctl -w " + key + "=1 (kube-proxy: iptables.localhostNodePorts), or call an address of the node"
	return c
}

func (s *setting) martian() Cause {
	p := &s.outcome.Packet
	if !p.Is6() && (p.Dst.IsLoopback() || p.Src.IsLoopback()) {
		return s.localnet()
	}
	if device, prefix := s.ownAddress(s.in.Src); device != "" {
		c := s.cause(Martian, fmt.Sprintf("address %s of device %s", prefix, device),
			"%s has the address %s itself, and takes no packet from there by %s", s.host, s.in.Src, s.in.In)
		if prefix.IsSingleIP() { // one with its network is what the node is known by
			c.Remedy = fmt.Sprintf("ip addr del %s dev %s", prefix, device)
		}
		return c
	}
	return s.cause(Martian, s.in.Src.String()+" > "+s.in.Dst.String()+" in "+s.in.In,
		"%s takes no packet from %s to %s by %s: %s", s.host, s.in.Src, s.in.Dst, s.in.In, s.outcome.Reason)
}

// ownAddress is the device of the host that has an address, and the address as the device has it; empty if none has it, or if nothing is
// known of the host.
func (s *setting) ownAddress(a netip.Addr) (device string, prefix netip.Prefix) {
	if s.node == nil {
		return "", prefix
	}
	for i := range s.node.Devices {
		for _, own := range s.node.Devices[i].Addresses {
			if own.Prefix.Addr() == a {
				return s.node.Devices[i].Name, own.Prefix
			}
		}
	}
	return "", prefix
}

func (s *setting) noRoute() Cause {
	c := s.cause(NoRoute, s.routeTo(s.outcome.Packet.Dst), "%s has no route to %s", s.host, s.outcome.Packet.Dst)
	c.Remedy = "ip route add " + netip.PrefixFrom(s.outcome.Packet.Dst, s.outcome.Packet.Dst.BitLen()).String() +
		" dev DEVICE (what the network plugin should have done)"
	return c
}

func (s *setting) down() Cause {
	device := s.in.In
	if s.outcome.Out != "" {
		device = s.outcome.Out
	}
	c := s.cause(DeviceDown, "device "+device, "device %s of %s is down", device, s.host)
	c.Remedy = restored(device)
	if slices.ContainsFunc(s.node.Devices, func(d snapshot.Device) bool { return d.Name == device && d.Master != "" }) {
		c.Remedy = "ip link set " + device + " up" // its bridge has the routes
	}
	return c
}

func (s *setting) hairpin() Cause {
	port := s.outcome.Port
	if port == "" {
		port = s.in.In
	}
	c := s.cause(Hairpin, "port "+port+" is not in hairpin mode",
		"%s would have to leave %s by the port %s that it came by, which is not in hairpin mode",
		s.about, s.host, port)
	c.Remedy = "bridge link set dev " + port + " hairpin on (kubelet: hairpinMode, CNI bridge: hairpinMode true)"
	return c
}

// tooLong is a packet that is longer than the MTU of the device that it should leave by.
func (s *setting) tooLong() Cause {
	c := s.cause(TooLong, "the MTU of "+s.outcome.Out, "%s is longer than the MTU of %s of %s, and may not be fragmented", s.about,
		s.outcome.Out, s.host)
	c.Remedy = "let ICMP \"fragmentation needed\" pass, or lower the MTU of the pods' devices"
	return c
}

// noNeighbour is a bridge or a tunnel that does not know behind what a destination is.
func (s *setting) noNeighbour() Cause {
	to := s.outcome.NextHop
	if !to.IsValid() {
		to = s.outcome.Packet.Dst
	}
	c := s.cause(NoNeighbour, "the neighbour "+to.String(), "%s does not know where %s is: %s", s.host, to, s.outcome.Reason)
	c.Remedy = "bridge fdb show; ip neigh show " + to.String() + " (what the network plugin should have written)"
	return c
}
