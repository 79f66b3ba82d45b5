package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

// addrTypeBits are the route types as -m addrtype spells them.
var addrTypeBits = map[RouteType]match.AddrTypeSet{
	RouteUnicast: match.AddrUnicast, RouteLocal: match.AddrLocal, RouteBroadcast: match.AddrBroadcast,
	RouteAnycast: match.AddrAnycast, RouteMulticast: match.AddrMulticast, RouteBlackhole: match.AddrBlackhole,
	RouteUnreachable: match.AddrUnreachable, RouteProhibit: match.AddrProhibit, RouteThrow: match.AddrThrow,
}

// matchAddrtype is -m addrtype (net/netfilter/xt_addrtype.c).
func (mt *matcher) matchAddrtype(s *skb, m *match.Addrtype) bool {
	var dev *device
	switch {
	case m.LimitIfaceIn:
		dev = s.in
	case m.LimitIfaceOut:
		dev = s.out
	}
	if m.SrcTypes != 0 && mt.routes.addrHasType(s.Src, dev, m.SrcTypes) == m.InvSrc {
		return false
	}
	return m.DstTypes == 0 || mt.routes.addrHasType(s.Dst, dev, m.DstTypes) != m.InvDst
}

func (h *routing) addrHasType(addr netip.Addr, dev *device, types match.AddrTypeSet) bool {
	if addr.Is6() {
		return h.addr6HasType(addr, dev, types)
	}
	name := ""
	if dev != nil {
		name = dev.Name
	}
	return addrTypeBits[h.fib(addr).addressType(addr, name)]&types != 0
}

// addr6HasType asks for an IPv6 address, where several types hold at once and all asked ones must (match_type6).
func (h *routing) addr6HasType(addr netip.Addr, dev *device, types match.AddrTypeSet) bool {
	unicast := !addr.IsMulticast() && !addr.IsUnspecified()
	switch {
	case types&match.AddrMulticast != 0 && !addr.IsMulticast(),
		types&match.AddrUnicast != 0 && !unicast,
		types&match.AddrUnspec != 0 && !addr.IsUnspecified():
		return false
	}
	routed := types & (match.AddrLocal | match.AddrAnycast | match.AddrUnreachable)
	return routed == 0 || routed&h.routedTypes6(addr, dev) != 0
}

// routedTypes6 is what the routing tables say of an address (match_lookup_rt6).
func (h *routing) routedTypes6(addr netip.Addr, dev *device) match.AddrTypeSet {
	var types match.AddrTypeSet
	f := flow{dst: addr, src: netip.IPv6Unspecified(), in: loopbackName}
	if dev != nil {
		f.out = dev.Name
		for i := range dev.Addresses {
			if dev.Addresses[i].Prefix.Addr() == addr {
				types |= match.AddrLocal
			}
		}
	}
	r, err := h.fib(addr).lookup(&f)
	switch {
	case err != nil:
		types |= match.AddrUnreachable
	case r.Type == RouteLocal && dev == nil:
		types |= match.AddrLocal
	case r.Type == RouteAnycast:
		types |= match.AddrAnycast
	}
	return types
}
