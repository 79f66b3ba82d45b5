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
}

func newLikely(hosts ...*packetsim.Host) *likely {
	l := &likely{hosts: hosts}
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
	l.addrs = append(l.addrs, netip.MustParseAddr("198.51.100.10"), netip.MustParseAddr("2001:db8::10"))
	return l
}

// isOn says of an edge of a function whether a likely address of a family is on it.
func (l *likely) isOn(family netfilter.Family) func(diagram.Edge) bool {
	var values []diagram.Value
	for _, a := range l.addrs {
		if a.Is6() == (family == netfilter.IPv6) {
			values = append(values, valueOf(a))
		}
	}
	slices.SortFunc(values, diagram.Value.Compare)
	return func(e diagram.Edge) bool {
		if e.Var != vDst && e.Var != vSrc {
			return false
		}
		at, _ := slices.BinarySearchFunc(values, e.First, diagram.Value.Compare)
		return at < len(values) && !e.Last.Less(values[at])
	}
}

// witness is a packet of a box, and how unlikely it is: 0 is as a real one.
func (l *likely) witness(s *Space) (inet.Input, int) {
	best, least := inet.Input{}, -1
	for _, device := range s.In {
		in, cost := l.by(s, device)
		if least < 0 || cost < least {
			best, least = in, cost
		}
	}
	return best, least
}

// by is the likeliest packet of a box that comes by a device.
func (l *likely) by(s *Space, device string) (inet.Input, int) {
	var p inet.Packet
	cost := 0
	p.Proto, cost = proto(s.Protos, s.Family)
	p.DstPort = portOf(s.DstPorts, 80, 443, 8080, 53)
	p.SrcPort = portOf(s.SrcPorts, 40000, 33000)
	if s.SrcPorts.Last < 1024 {
		cost++
	}
	var unlikely int
	p.Dst, unlikely = l.addr(s.Dst, nil)
	cost += unlikely
	in := inet.Input{In: device, Local: device == ""}
	p.Src, unlikely = l.addr(s.Src, func(a netip.Addr) bool { return l.comesBy(a, device) })
	cost += 2 * unlikely
	if device == loopback {
		cost += 8
	}
	if p.Src.IsLoopback() && !p.Dst.IsLoopback() {
		cost += 4
	}
	cost += 4 * len(s.Names)
	in.Packet = Usual(p, s.Class)
	return in, cost
}

// comesBy says whether packets from an address come by a device, by the routes to it.
func (l *likely) comesBy(a netip.Addr, device string) bool {
	for _, h := range l.hosts {
		if device == "" {
			if h.IsLocal(a) {
				return true
			}
			continue
		}
		if way, err := h.WayTo(a); err == nil && way == device {
			return true
		}
	}
	return false
}

// addr is a likely address of some, which must be so if it can; 0 is as likely as can be.
func (l *likely) addr(of Addrs, must func(netip.Addr) bool) (netip.Addr, int) {
	for _, a := range l.addrs {
		if of.Has(a) && (must == nil || must(a)) {
			return a, 0
		}
	}
	candidates := []netip.Addr{of.First.Next(), of.First, of.Last}
	for _, a := range candidates {
		if a.IsValid() && of.Has(a) && !a.IsUnspecified() && (must == nil || must(a)) {
			return a, 1
		}
	}
	if must == nil {
		return of.First, 1
	}
	a, cost := l.addr(of, nil)
	return a, cost + 4
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
