//go:build linux

package packetsim

import (
	"net/netip"
)

// routeCasesRoutes are the routes of addRoutes.
func routeCasesRoutes() []Route {
	client, server := netip.MustParseAddr("10.77.1.2"), netip.MustParseAddr("10.77.2.2")
	client6, server6 := netip.MustParseAddr("fd77:1::2"), netip.MustParseAddr("fd77:2::2")
	return []Route{
		{Dst: netip.MustParsePrefix("10.94.0.0/16"), Type: RouteUnreachable},
		{Dst: netip.MustParsePrefix("10.93.0.0/16"), Type: RouteThrow},
		{Dst: netip.MustParsePrefix("10.91.0.0/16"), NextHops: []NextHop{{Via: server, Dev: "cwpss"}, {Via: client, Dev: "cwpsc", Weight: 3}}},
		{Dst: netip.MustParsePrefix("fd97::/16"), Type: RouteBlackhole},
		{Dst: netip.MustParsePrefix("fd96::/16"), Type: RouteProhibit},
		{Dst: netip.MustParsePrefix("fd94::/16"), Type: RouteUnreachable},
		{Dst: netip.MustParsePrefix("fd95::/16"), Via: server6, Dev: "cwpss"},
		{Dst: netip.MustParsePrefix("fd95::/16"), Dev: "cwpsc", Table: 95},
		{Dst: netip.MustParsePrefix("fd91::/16"), NextHops: []NextHop{{Via: server6, Dev: "cwpss"}, {Via: client6, Dev: "cwpsc", Weight: 3}}},
	}
}

// routeRules show the device that a packet leaves by, and mark some.
const routeRules = traceFirst + `COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -p udp -m udp --dport 7001 -j MARK --set-xmark 0x5f/0xffffffff
-A OUTPUT -p udp -m udp --dport 7001 -j MARK --set-xmark 0x5f/0xffffffff
-A POSTROUTING -o cwpsc
-A POSTROUTING -o cwpss
COMMIT
`

var routeCases = []kernelCase{
	{"unreachable", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.94.0.1:80"}}},
	{"throw", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.93.0.1:80"}}},
	{"rule by device", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.99.3.1:80"}, {place: "server", packet: "udp 10.77.2.2:41001 > 10.99.3.1:80"},
	}},
	{"mark of PREROUTING", []kernelPacket{
		{place: "server", packet: "udp 10.77.2.2:41001 > 10.95.0.2:80"}, {place: "server", packet: "udp 10.77.2.2:41001 > 10.95.0.2:7001"},
	}},
	{"mark of OUTPUT", []kernelPacket{{place: "node", packet: "udp 10.77.1.1:41001 > 10.95.0.2:7001"}}},
	{"several next hops", []kernelPacket{
		{place: "server", packet: "udp 10.77.2.2:41001 > 10.91.0.1:80"}, {place: "server", packet: "udp 10.77.2.2:41002 > 10.91.0.1:80"},
		{place: "server", packet: "udp 10.77.2.2:41001 > 10.91.0.2:80"}, {place: "server", packet: "udp 10.77.2.2:41001 > 10.91.0.3:80"},
		{place: "server", packet: "tcp 10.77.2.2:41001 > 10.91.0.3:80"}, {place: "node", packet: "udp 10.77.1.1:41001 > 10.91.0.1:80"},
	}},
}

var routeCases6 = []kernelCase{
	{"unreachable", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd94::1]:80"}}},
	{"prohibited", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd96::1]:80"}}},
	{"blackhole", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd97::1]:80"}}},
	{"rule by device", []kernelPacket{
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd99:3::1]:80"}, {place: "server", packet: "udp [fd77:2::2]:41001 > [fd99:3::1]:80"},
	}},
	{"mark of PREROUTING", []kernelPacket{
		{place: "server", packet: "udp [fd77:2::2]:41001 > [fd95::2]:80"}, {place: "server", packet: "udp [fd77:2::2]:41001 > [fd95::2]:7001"},
	}},
	{"mark of OUTPUT", []kernelPacket{{place: "node", packet: "udp [fd77:1::1]:41001 > [fd95::2]:7001"}}},
	{"several next hops", []kernelPacket{
		{place: "server", packet: "udp [fd77:2::2]:41001 > [fd91::1]:80"}, {place: "server", packet: "udp [fd77:2::2]:41001 > [fd91::2]:80"},
		{place: "server", packet: "udp [fd77:2::2]:41001 > [fd91::3]:80"},
	}},
}
