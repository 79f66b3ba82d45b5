package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// path is what a packet's dst entry holds: where routing sends it.
type path struct {
	local   bool
	out     *device // lo for packets of the host to itself; nil for other local ones
	nextHop netip.Addr
	typ     RouteType
	realms  uint32 // the dst entry's tclassid
}

// routeOutput routes a packet of the host itself and chooses its source, if it has none
// (ip_route_output_key_hash_rcu in net/ipv4/route.c, ip6_route_output_flags in net/ipv6/route.c). With anySrc the source may be foreign.
func (h *routing) routeOutput(f *flow, anySrc bool) (to path, src netip.Addr, err error) {
	src, err = h.routeOutputTo(f, anySrc, &to)
	return to, src, err
}

// routeOutputTo is routeOutput that writes the path where it is to be, also where there is an error, with which it means nothing.
func (h *routing) routeOutputTo(f *flow, anySrc bool, to *path) (src netip.Addr, err error) {
	tables := h.fib(f.dst)
	// The address of a device may be the anycast address of another one's network, too.
	if f.src.IsValid() && !anySrc && !tables.isLocal(f.src) && !(f.src.Is6() && h.hasAddress(f.src)) {
		return f.src, ReasonForeignSource
	}
	if !f.src.IsValid() {
		f.src = inet.Unspecified(f.dst)
	}
	if goesToMany(f.dst) && !f.src.IsUnspecified() {
		dev := h.deviceOf(f.src)
		if dev == nil {
			return f.src, ReasonForeignSource
		}
		*to = pathToMany(dev, f.dst)
		return f.src, h.checkLoopback(f.src, dev)
	}
	r, err := tables.lookup(f)
	if err != nil {
		return f.src, err
	}
	r = h.hopOf(r, f)
	h.outputPathTo(r, f.dst, to)
	if f.src.IsUnspecified() {
		f.src = h.routeSource(r, f.dst)
	}
	if !f.src.IsValid() {
		return f.src, ReasonNoSource
	}
	return f.src, h.checkLoopback(f.src, to.out)
}

// checkLoopback keeps loopback sources in the host.
func (h *routing) checkLoopback(src netip.Addr, out *device) error {
	if src.Is4() && src.IsLoopback() && out.Name != loopbackName && !out.conf.routeLocalnet {
		return ReasonLoopbackLeaves
	}
	return nil
}

func (h *routing) outputPath(r *route, dst netip.Addr) (to path) {
	h.outputPathTo(r, dst, &to)
	return to
}

// outputPathTo is outputPath that writes the path where it is to be.
func (h *routing) outputPathTo(r *route, dst netip.Addr, to *path) {
	if r.kind == toAll || dst == limitedBroadcast || dst.IsMulticast() {
		*to = pathToMany(r.dev, dst)
		if to.realms = r.Realms; to.typ == RouteMulticast && r.Via.IsValid() && r.Dst.Bits() >= leastGroupBits {
			to.nextHop = r.Via
		}
		return
	}
	to.local, to.out, to.nextHop, to.typ, to.realms = false, r.dev, dst, r.Type, r.Realms
	if r.Via.IsValid() {
		to.nextHop = r.Via
	}
	if r.kind == toHost {
		to.local, to.out = true, h.byName[loopbackName]
	}
}

// routeSource is the source address that a route gives: its preferred one, or one of its device's.
func (h *routing) routeSource(r *route, dst netip.Addr) netip.Addr {
	switch {
	case r.Src.IsValid():
		return r.Src
	case dst.Is6():
		return h.selectAddr6(r.dev, dst)
	case r.Type == RouteLocal:
		return dst
	}
	return h.selectAddr(r.dev, r.Via, r.Scope)
}

// checkReceive makes the checks that come before PREROUTING (ip6_rcv_core in net/ipv6/ip6_input.c; IPv4 leaves them to routing).
func checkReceive(s *skb, in *device) error {
	onWire := in.Name != loopbackName
	switch {
	case !s.Is6():
		return nil
	case onWire && (s.Src.IsLoopback() || s.Dst.IsLoopback()), s.Src.IsMulticast(), s.Dst.IsMulticast() && groupScope(s.Dst) == 0,
		onWire && !s.looped && s.Dst.IsMulticast() && groupScope(s.Dst) == 1:
		return ReasonBadAddress
	}
	return nil
}

// leastGroupBits is the length of the prefix of all groups: a route that holds more gives the way of a group by its device alone.
const leastGroupBits = 4

// routeInput routes a packet that came in (ip_route_input_slow in net/ipv4/route.c).
func (h *routing) routeInput(p *inet.Packet, in *device, chance Chance) (to path, err error) {
	if p.Dst.IsMulticast() {
		return h.routeGroup(p, in)
	}
	if err := checkInputAddresses(p, in); err != nil {
		return path{}, err
	}
	tables := h.fib(p.Dst)
	if p.Dst == limitedBroadcast || (p.Dst.Is4() && p.Dst.IsUnspecified()) {
		to = path{local: true, typ: RouteBroadcast}
		if !p.Src.IsUnspecified() {
			to.realms, err = h.validateSource(p, in, "")
		}
		return to, err
	}
	f := flow{dst: p.Dst, src: p.Src, mark: p.Mark, in: in.Name, chance: chance}
	if p.Dst.Is6() && (p.Dst.IsLoopback() || p.Dst.IsLinkLocalUnicast()) {
		f.out = in.Name // ip6_route_input_lookup asks for routes of that device alone
	}
	r, err := tables.lookup(&f)
	if err != nil {
		return path{}, err
	}
	switch r.Type {
	case RouteLocal, RouteBroadcast, RouteAnycast:
		realms, err := h.validateSource(p, in, "")
		return path{local: true, typ: r.Type, realms: realms}, err
	}
	if !h.forwards(p, in) {
		return path{}, ReasonForwardingOff
	}
	r = h.hopOf(r, &f)
	to = h.outputPath(r, p.Dst)
	realms, err := h.validateSource(p, in, r.Dev)
	to.realms = withSourceRealm(to.realms, realms)
	return to, err
}

// withSourceRealm fills in the halves that a route's realms leave open (set_class_tag in net/ipv4/route.c).
func withSourceRealm(realms, source uint32) uint32 {
	for _, half := range [...]uint32{0xffff, 0xffff0000} {
		if realms&half == 0 {
			realms |= source & half
		}
	}
	return realms
}

func (h *routing) forwards(p *inet.Packet, in *device) bool {
	if p.Is6() {
		return h.conf.forwarding6
	}
	return in.conf.forwarding
}

// checkInputAddresses refuses the addresses that no routing table allows on the wire.
func checkInputAddresses(p *inet.Packet, in *device) error {
	if p.Is6() {
		return nil
	}
	switch {
	case p.Src.IsMulticast(), p.Src == limitedBroadcast:
		return ReasonMartianSource
	case p.Dst == limitedBroadcast, p.Src.IsUnspecified() && p.Dst.IsUnspecified():
		return nil
	case p.Src.IsUnspecified():
		return ReasonMartianSource
	case p.Dst.IsUnspecified():
		return ReasonMartianDestination
	case in.conf.routeLocalnet:
		return nil
	case p.Dst.IsLoopback():
		return ReasonMartianDestination
	case p.Src.IsLoopback():
		return ReasonMartianSource
	}
	return nil
}

// validateSource is the check of an IPv4 packet's source against the routing tables (fib_validate_source in
// net/ipv4/fib_frontend.c). out is the device that the packet is forwarded to; empty if it is for the host. realms has the realm of
// the route back to the source in its upper half.
func (h *routing) validateSource(p *inet.Packet, in *device, out string) (realms uint32, err error) {
	if p.Is6() {
		return 0, nil
	}
	tables := h.fib(p.Src)
	if in.conf.rpFilter == 0 && !tables.realms && (in.Name != out || !in.conf.sendRedirects) {
		if in.conf.acceptLocal {
			return 0, nil
		}
		if !tables.custom {
			if h.hasAddress(p.Src) {
				return 0, ReasonMartianSource
			}
			return 0, nil
		}
	}
	return h.validateSourceFully(p, in, out, tables)
}

func (h *routing) validateSourceFully(p *inet.Packet, in *device, out string, tables *fib) (realms uint32, err error) {
	back := flow{dst: p.Src, src: p.Dst, in: out}
	if out == "" {
		back.in = loopbackName
	}
	if in.conf.srcValidMark {
		back.mark = p.Mark
	}
	lastResort := func() (uint32, error) {
		if in.conf.rpFilter != 0 {
			return 0, ReasonReversePath
		}
		return 0, nil
	}
	r, err := tables.lookup(&back)
	if err != nil {
		return lastResort()
	}
	if r.Type != RouteUnicast && (r.Type != RouteLocal || !in.conf.acceptLocal) {
		return 0, ReasonMartianSource
	}
	realms = r.Realms << 16 // fib_combine_itag
	if r.uses(in) || (r.Type == RouteLocal && in.Name == loopbackName) {
		return realms, nil
	}
	if !hasIPv4(in) {
		return lastResort()
	}
	if in.conf.rpFilter == 1 {
		return 0, ReasonReversePath
	}
	return realms, nil
}

func hasIPv4(dev *device) bool {
	for i := range dev.Addresses {
		if dev.Addresses[i].Prefix.Addr().Is4() {
			return true
		}
	}
	return false
}

// hasAddress says whether a device has exactly this address.
func (h *routing) hasAddress(addr netip.Addr) bool { return h.addresses.has(addr) }

// addressSet is a set of addresses: few in a list, which is quicker, or many by themselves.
type addressSet struct {
	few  []netip.Addr
	many map[netip.Addr]bool // nil while they are few
}

// fewAddresses is up to how many addresses are few.
const fewAddresses = 8

func (s *addressSet) add(addr netip.Addr) {
	switch {
	case s.many != nil:
		s.many[addr] = true
	case len(s.few) < fewAddresses:
		s.few = append(s.few, addr)
	default:
		s.many = map[netip.Addr]bool{addr: true}
		for _, have := range s.few {
			s.many[have] = true
		}
		s.few = nil
	}
}

func (s *addressSet) has(addr netip.Addr) bool {
	if s.many != nil {
		return s.many[addr]
	}
	for i := range s.few {
		if s.few[i] == addr {
			return true
		}
	}
	return false
}
