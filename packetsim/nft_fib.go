package packetsim

import (
	"errors"
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The types of routes (RTN_* in include/uapi/linux/rtnetlink.h).
var routeTypeNumbers = map[RouteType]uint32{RouteUnicast: 1, RouteLocal: 2, RouteBroadcast: 3, RouteAnycast: 4, RouteMulticast: 5,
	RouteBlackhole: 6, RouteUnreachable: 7, RouteProhibit: 8, RouteThrow: 9}

// fib is fib (net/ipv4/netfilter/nft_fib_ipv4.c and its IPv6 twin).
func (t *nftMachine) fib(x *expr.Fib) {
	at := uint8(x.Dreg.Offset())
	if x.Result == expr.FibType {
		t.regs.put4(at, t.addressType(x))
		return
	}
	dev := t.reverseDevice(x)
	switch {
	case x.Flags&expr.FibPresent != 0 && dev != nil:
		t.regs.put4(at, 1)
	case x.Flags&expr.FibPresent != 0:
		t.regs.put4(at, 0)
	case x.Result == expr.FibOif:
		t.regs.put4(at, deviceIndex(dev))
	default:
		t.loadName(at, deviceName(dev))
	}
}

// fibDevice is the device that the look-up is restricted to; nil: none.
func (t *nftMachine) fibDevice(x *expr.Fib) *device {
	switch {
	case x.Flags&expr.FibIif != 0:
		return t.s.in
	case x.Flags&expr.FibOifFlag != 0:
		return t.s.out
	}
	return nil
}

// fibFlow is what is looked up.
func (t *nftMachine) fibFlow(x *expr.Fib) flow {
	s := t.s
	f := flow{dst: s.Dst, src: s.Src, in: loopbackName}
	if x.Flags&expr.FibDaddr == 0 {
		f.dst, f.src = s.Src, s.Dst
		if s.hook == forward && x.Flags&expr.FibIif != 0 {
			f.in = s.out.Name
		}
	}
	if x.Flags&expr.FibMark != 0 {
		f.mark = s.Mark
	}
	if s.Is6() {
		if f.dst.IsLinkLocalUnicast() || f.dst.IsLinkLocalMulticast() {
			f.out = deviceName(t.linkOf(x))
		}
		return f
	}
	if f.src.IsMulticast() || f.src == limitedBroadcast || isZeroNet(f.src) {
		f.src = netip.IPv4Unspecified()
	}
	return f
}

// linkOf is the device on whose link a link-local address or group is.
func (t *nftMachine) linkOf(x *expr.Fib) *device {
	if dev := t.fibDevice(x); dev != nil {
		return dev
	}
	if t.s.in != nil {
		return t.s.in
	}
	return t.s.out
}

// isZeroNet says whether an IPv4 address is of 0.0.0.0/8.
func isZeroNet(addr netip.Addr) bool { return addr.Is4() && addr.As4()[0] == 0 }

// addressType is the type of the address (nft_fib4_eval_type, nft_fib6_eval_type).
func (t *nftMachine) addressType(x *expr.Fib) uint32 {
	f, dev, routes := t.fibFlow(x), t.fibDevice(x), t.targets.routes
	if t.s.Is6() {
		return addressType6(routes, &f, dev)
	}
	addr := t.s.Src
	if x.Flags&expr.FibDaddr != 0 {
		addr = t.s.Dst
	}
	return routeTypeNumbers[routes.fib(addr).addressType(addr, deviceName(dev))]
}

func addressType6(routes *routing, f *flow, dev *device) uint32 {
	r, err := routes.fib(f.dst).lookup(f)
	switch {
	case errors.Is(err, ReasonRouteBlackhole):
		return routeTypeNumbers[RouteBlackhole]
	case errors.Is(err, ReasonRouteProhibited):
		return routeTypeNumbers[RouteProhibit]
	case err != nil:
		return routeTypeNumbers[RouteUnreachable]
	case r.Type == RouteAnycast:
		return routeTypeNumbers[RouteAnycast]
	case dev != nil && dev.Has(f.dst), dev == nil && r.Type == RouteLocal:
		return routeTypeNumbers[RouteLocal]
	case f.dst.IsMulticast():
		return routeTypeNumbers[RouteMulticast]
	case f.dst.IsUnspecified():
		return 0
	}
	return routeTypeNumbers[RouteUnicast]
}

// reverseDevice is the device that the address is behind (nft_fib4_eval, nft_fib6_eval); nil if it is behind none, or not behind the one
// that is asked for.
func (t *nftMachine) reverseDevice(x *expr.Fib) *device {
	s := t.s
	if s.hook == preRouting || s.hook == input {
		if s.looped || s.in.Name == loopbackName {
			return s.in
		}
	}
	switch {
	case s.Is6() && s.Proto == inet.ICMPv6 && s.Src.IsUnspecified() && s.Dst.IsLinkLocalUnicast():
		return s.in
	case isZeroNet(s.Src) && (s.Dst == limitedBroadcast || s.Dst.IsLinkLocalMulticast()):
		return t.linkOf(x)
	}
	f, dev := t.fibFlow(x), t.fibDevice(x)
	r, err := t.targets.routes.fib(f.dst).lookup(&f)
	switch {
	case err != nil, r.Type == RouteLocal, s.Is6() && r.Type == RouteAnycast:
		return nil
	case dev == nil:
		return r.first(&f)
	case r.uses(dev):
		return dev
	}
	return nil
}

// first is the device of the route, of several next hops of the first that can be used.
func (r *route) first(f *flow) *device {
	for _, hop := range r.hops {
		if hop.usable(f) {
			return hop.dev
		}
	}
	return r.dev
}

// defaultRTMSS is what rt tcpmss says of routes whose MTU leaves no room (TCP_MSS_DEFAULT).
const defaultRTMSS = 536

// route is rt (net/netfilter/nft_rt.c). A packet that has no route yet breaks the rule.
func (t *nftMachine) route(x *expr.RT) {
	s, at := t.s, x.Dreg.Offset()
	if !s.routed {
		t.code = expr.Break
		return
	}
	hop := s.path.nextHop
	if !hop.IsValid() {
		hop = s.Dst
	}
	switch x.Key {
	case expr.RTClassID:
		t.regs.put4(uint8(at), s.path.realms)
	case expr.RTNextHop4, expr.RTNextHop6:
		if s.Is6() != (x.Key == expr.RTNextHop6) {
			t.code = expr.Break
			return
		}
		t.regs.put(at, hop.AsSlice())
	case expr.RTTCPMSS:
		mss, fits := t.targets.clampedMSS(s)
		if !fits {
			mss = defaultRTMSS
		}
		t.regs.put4(uint8(at), uint32(mss))
	case expr.RTXFRM:
		t.regs.put4(uint8(at), 0)
	default:
		t.notWalked(x, "an unknown key")
	}
}
