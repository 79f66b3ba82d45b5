package snapshot

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

func bothFamilies() []netfilter.Family { return []netfilter.Family{netfilter.IPv4, netfilter.IPv6} }

// netlinkFamily is AF_INET or AF_INET6.
func netlinkFamily(f netfilter.Family) int {
	if f == netfilter.IPv4 {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

func (t *taker) routes() {
	links, err := dump(t.netlink.LinkList)
	if err != nil {
		t.unread("routes", "list devices: %v", err)
		return
	}
	names := linkNames(links)
	for _, family := range bothFamilies() {
		// Table 0 in the filter stands for every table.
		list, err := dump(func() ([]netlink.Route, error) {
			return t.netlink.RouteListFiltered(netlinkFamily(family), &netlink.Route{}, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			t.unread(fmt.Sprintf("IPv%d routes", family), "%v", err)
			continue
		}
		for i := range list {
			route, err := routeFromNetlink(&list[i], family, names)
			if err != nil {
				t.unread(fmt.Sprintf("IPv%d route %s", family, list[i]), "%v", err)
				continue
			}
			t.snapshot.Routes = append(t.snapshot.Routes, route)
		}
	}
	slices.SortStableFunc(t.snapshot.Routes, compareRoutes)
}

func routeFromNetlink(r *netlink.Route, family netfilter.Family, names map[int]string) (Route, error) {
	var s Route
	switch {
	case r.Tos != 0:
		return s, fmt.Errorf("%w: a route for TOS %#x only", errNotSupported, r.Tos)
	case r.Encap != nil || r.MPLSDst != nil || r.NewDst != nil:
		return s, fmt.Errorf("%w: a route with an encapsulation", errNotSupported)
	case r.Via != nil:
		return s, fmt.Errorf("%w: a gateway of the other address family", errNotSupported)
	case r.Flags&unix.RTNH_F_DEAD != 0:
		return s, errors.New("dead: the kernel does not use it")
	}
	s.Table, s.Metric, s.Dev, s.Protocol = packetsim.RouteTable(r.Table), uint32(r.Priority), names[r.LinkIndex], r.Protocol.String()
	s.Via, s.Src, s.Realms = addrOf(r.Gw), addrOf(r.Src), uint32(r.Realm)
	s.Dst = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	if family == netfilter.IPv4 {
		s.Dst = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	if dst, ok := prefixOf(r.Dst); ok {
		s.Dst = dst
	}
	var ok bool
	if s.Scope, ok = scopeOf(int(r.Scope)); !ok {
		return s, fmt.Errorf("%w: scope %d", errNotSupported, r.Scope)
	}
	if s.Type, ok = routeTypeOf(r.Type); !ok {
		return s, fmt.Errorf("%w: route type %d", errNotSupported, r.Type)
	}
	return s, s.addHops(r.MultiPath, names)
}

func (r *Route) addHops(hops []*netlink.NexthopInfo, names map[int]string) error {
	for _, hop := range hops {
		if hop.Encap != nil || hop.NewDst != nil || hop.Via != nil {
			return fmt.Errorf("%w: a next hop with an encapsulation or a gateway of the other family", errNotSupported)
		}
		r.NextHops = append(r.NextHops, NextHop{Via: addrOf(hop.Gw), Dev: names[hop.LinkIndex], Weight: hop.Hops + 1})
	}
	if len(hops) > 0 {
		r.Dev, r.Via = "", netip.Addr{}
	}
	return nil
}

func routeTypeOf(n int) (packetsim.RouteType, bool) {
	switch n {
	case unix.RTN_UNICAST:
		return packetsim.RouteUnicast, true
	case unix.RTN_LOCAL:
		return packetsim.RouteLocal, true
	case unix.RTN_BROADCAST:
		return packetsim.RouteBroadcast, true
	case unix.RTN_ANYCAST:
		return packetsim.RouteAnycast, true
	case unix.RTN_MULTICAST:
		return packetsim.RouteMulticast, true
	case unix.RTN_UNREACHABLE:
		return packetsim.RouteUnreachable, true
	case unix.RTN_PROHIBIT:
		return packetsim.RouteProhibit, true
	case unix.RTN_BLACKHOLE:
		return packetsim.RouteBlackhole, true
	case unix.RTN_THROW:
		return packetsim.RouteThrow, true
	}
	return "", false
}
