package forall

import (
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/forall/internal/diagram"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// likely knows which packets are likely on some hosts.
type likely struct {
	hosts []*packetsim.Host
	// addrs are addresses of neighbours and of the hosts, the most likely ones first.
	addrs []netip.Addr
	// from are those of addrs whose packets come by a device, in the same order; nil: not asked yet.
	from map[string][]netip.Addr
	// to are likely addresses of those that were asked for, and ways the devices by which packets from an address come.
	to   map[Addrs]likelyAddr
	ways map[netip.Addr][]string
}

// likelyAddr is an address, and how unlikely it is.
type likelyAddr struct {
	netip.Addr
	cost int
}

func newLikely(hosts ...*packetsim.Host) *likely {
	l := &likely{hosts: hosts, to: map[Addrs]likelyAddr{}, ways: map[netip.Addr][]string{}}
	for _, h := range hosts {
		config := h.Config()
		for _, r := range config.Routes {
			if r.Dst.IsSingleIP() && r.Type != packetsim.RouteBroadcast && r.Type != packetsim.RouteLocal {
				l.addrs = append(l.addrs, r.Dst.Addr())
			}
			if r.Via.IsValid() {
				l.addrs = append(l.addrs, r.Via)
			}
		}
		for _, r := range config.Routes {
			network := r.Dst.Bits() > 8 && !r.Dst.IsSingleIP()
			if host := r.Dst.Addr().Next().Next(); network && r.Dst.Contains(host) && r.Type != packetsim.RouteLocal {
				l.addrs = append(l.addrs, host)
			}
		}
		for _, d := range config.Devices {
			for i := range d.Addresses {
				l.addrs = append(l.addrs, d.Addresses[i].Prefix.Addr())
			}
		}
	}
	for _, outside := range [...]string{"198.51.100.10", "198.51.100.11", "2001:db8::10", "2001:db8::11"} {
		l.addrs = append(l.addrs, netip.MustParseAddr(outside))
	}
	return l
}

// costs says how unlikely the packets are that take an edge of a function, of a family: 0 is as likely as real ones, by their addresses,
// port and protocol.
func (l *likely) costs(family netfilter.Family) func(diagram.Edge) int {
	const address, protocol = 8, 4 // of a port it is up to 4
	var values []diagram.Value
	for _, a := range l.addrs {
		if a.Is6() == (family == netfilter.IPv6) {
			values = append(values, valueOf(a))
		}
	}
	slices.SortFunc(values, diagram.Value.Compare)
	return func(e diagram.Edge) int {
		switch e.Var {
		case vDst, vSrc:
			at, _ := slices.BinarySearchFunc(values, e.First, diagram.Value.Compare)
			if at == len(values) || e.Last.Less(values[at]) {
				return address
			}
		case vDstPort:
			if at := slices.IndexFunc(likelyPorts[:], portsOf(e).Has); at >= 0 {
				return at
			}
			return len(likelyPorts)
		case vProto:
			_, unlikely := proto(portsOf(e), family)
			return protocol * unlikely
		}
		return 0
	}
}

// portsOf are the ports, or protocols, of an edge.
func portsOf(e diagram.Edge) Ports { return Ports{uint16(e.First.Low), uint16(e.Last.Low)} }

// likelyPorts are ports of servers, the likeliest first.
var likelyPorts = [...]uint16{80, 443, 8080, 53}

// witness is a packet of a box, and how unlikely it is: 0 is as a real one.
func (l *likely) witness(s *Space) (inet.Input, int) {
	var p inet.Packet
	cost := 0
	p.Proto, cost = proto(s.Protos, s.Family)
	p.DstPort = portOf(s.DstPorts, likelyPorts[:]...)
	p.SrcPort = portOf(s.SrcPorts, 40000, 33000)
	if s.SrcPorts.Last < 1024 {
		cost++
	}
	dst := l.destination(s.Dst)
	p.Dst = dst.Addr
	device, src := l.entrance(s, p.Dst)
	p.Src = src.Addr
	return inet.Input{In: device, Local: device == "", Packet: Usual(p, s.Class)}, cost + dst.cost + src.cost + 4*len(s.Names)
}

// entrance is the likeliest device of a box by which a packet to a destination comes, and its source.
func (l *likely) entrance(s *Space, dst netip.Addr) (device string, src likelyAddr) {
	src.cost = -1
	for _, in := range s.In {
		a := l.source(s.Src, in, dst)
		a.cost *= 2
		if in == loopback {
			a.cost += 8
		}
		if a.IsLoopback() && !dst.IsLoopback() {
			a.cost += 4
		}
		if src.cost < 0 || a.cost < src.cost {
			device, src = in, a
		}
		if src.cost == 0 {
			break
		}
	}
	return device, src
}

// comingBy are the addresses whose packets come by a device, by the routes to them.
func (l *likely) comingBy(device string) []netip.Addr {
	if l.from == nil {
		l.from = map[string][]netip.Addr{}
		for _, a := range l.addrs {
			for _, by := range l.waysOf(a) {
				l.from[by] = append(l.from[by], a)
			}
		}
	}
	return l.from[device]
}

// waysOf are the devices by which packets from an address come, by the routes to it; the empty one: a host sends them.
func (l *likely) waysOf(a netip.Addr) []string {
	devices, known := l.ways[a]
	if known {
		return devices
	}
	add := func(device string) {
		if !slices.Contains(devices, device) {
			devices = append(devices, device)
		}
	}
	for _, h := range l.hosts {
		if h.IsLocal(a) {
			add("")
		}
		if way, err := h.WayTo(a); err == nil && way != "" {
			add(way)
		}
	}
	l.ways[a] = devices
	return devices
}

// destination is a likely one of some.
func (l *likely) destination(of Addrs) likelyAddr {
	known, is := l.to[of]
	if !is {
		known = likelyOf(of, l.addrs, func(netip.Addr) bool { return true })
		if !known.IsValid() { // the unspecified address alone
			known = likelyAddr{of.First, 1}
		}
		l.to[of] = known
	}
	return known
}

// source is a likely one of some, whose packets come by a device if there is one. By other devices than lo none comes from its destination.
func (l *likely) source(of Addrs, device string, dst netip.Addr) likelyAddr {
	a := likelyOf(of, l.comingBy(device), func(a netip.Addr) bool {
		return (a != dst || device == "" || device == loopback) && slices.Contains(l.waysOf(a), device)
	})
	if !a.IsValid() {
		a = l.destination(of)
		a.cost += 4
	}
	return a
}

// likelyOf is the first of the known addresses that is among some and may be, or else another one; invalid: there is none.
func likelyOf(of Addrs, known []netip.Addr, may func(netip.Addr) bool) likelyAddr {
	for _, a := range known {
		if of.Has(a) && may(a) {
			return likelyAddr{a, 0}
		}
	}
	for _, a := range [...]netip.Addr{of.First.Next(), of.First, of.Last} {
		if a.IsValid() && of.Has(a) && !a.IsUnspecified() && may(a) {
			return likelyAddr{a, 1}
		}
	}
	return likelyAddr{}
}

// portOf is a likely port of some.
func portOf(of Ports, likely ...uint16) uint16 {
	for _, p := range likely {
		if of.Has(p) {
			return p
		}
	}
	return max(of.First, min(of.Last, 1))
}

// proto is a likely protocol of some.
func proto(of Ports, family netfilter.Family) (inet.Proto, int) {
	ping := inet.ICMP
	if family == netfilter.IPv6 {
		ping = inet.ICMPv6
	}
	for i, p := range [...]inet.Proto{inet.TCP, inet.UDP, ping, inet.SCTP} {
		if of.Has(uint16(p)) {
			return p, i
		}
	}
	return inet.Proto(of.Last), 8
}
