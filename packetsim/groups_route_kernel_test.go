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
		{Dst: netip.MustParsePrefix("10.89.1.0/24"), Via: server, Dev: "cwpss", Realms: 7<<16 | 5},
		{Dst: netip.MustParsePrefix("10.89.2.0/24"), Via: client, Dev: "cwpsc", Realms: 6},
		{Dst: netip.MustParsePrefix("10.89.3.0/24"), Via: server, Dev: "cwpss"},
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

// longCases are packets about as long as the MTU of the server's device. One that may be cut goes on in fragments, which are traced as one
// packet until it leaves.
var longCases = []kernelCase{
	{"as long", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80 len 1400 df"}}},
	{"longer", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80 len 1401 df"}}},
	{"longer, and may be cut", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80 len 1401"}}},
	{"longer, to the node", []kernelPacket{{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.1:80 len 1401 df"}}},
	{"longer, with a hop limit that is spent", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80 ttl 1 len 1401 df"},
	}},
	{"longer, and an error", []kernelPacket{
		{place: "client", packet: "icmp 10.77.1.2 > 10.77.2.2 type 3/3 len 1401 df", inner: "udp 10.77.2.2:1 > 10.77.1.2:2"},
	}},
}

var longCases6 = []kernelCase{
	{"as long", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:80 len 1400"}}},
	{"longer", []kernelPacket{{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:80 len 1401"}}},
	{"longer, with a hop limit that is spent", []kernelPacket{
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:80 ttl 1 len 1401"},
	}},
}

// realmRules show which realms the route of a packet has, of both ends.
const realmRules = traceFirst + `COMMIT
*mangle
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A INPUT -m realm --realm 0x0
-A INPUT -m realm --realm 0x60000/0xffff0000
-A FORWARD -m realm --realm 0x5/0xffff
-A FORWARD -m realm --realm 0x6/0xffff
-A FORWARD -m realm --realm 0x70000/0xffff0000
-A FORWARD -m realm --realm 0x60000/0xffff0000
-A FORWARD -m realm --realm 0x50000/0xffff0000
-A FORWARD -m realm ! --realm 0x0
-A OUTPUT -m realm --realm 0x70005
-A OUTPUT -m realm --realm 0x6
-A POSTROUTING -m realm --realm 0x70005
-A POSTROUTING -m realm --realm 0x5/0xff
COMMIT
*nat
:OUTPUT ACCEPT [0:0]
-A OUTPUT -p udp -m udp --dport 7003 -j DNAT --to-destination 10.89.2.9
COMMIT
`

var realmCases = []kernelCase{
	{"forwarded", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.89.1.1:80"}, {place: "client", packet: "udp 10.89.2.1:41001 > 10.89.1.1:80"},
		{place: "client", packet: "udp 10.89.2.1:41001 > 10.89.3.1:80"}, {place: "server", packet: "udp 10.89.1.1:41001 > 10.89.2.1:80"},
		{place: "server", packet: "udp 10.89.1.1:41001 > 10.77.1.2:80"}, {place: "client", packet: "udp 10.77.1.2:41001 > 10.77.2.2:80"},
		{place: "client", packet: "udp 10.89.3.1:41001 > 10.77.2.2:80"},
	}},
	{"for the node", []kernelPacket{
		{place: "client", packet: "udp 10.77.1.2:41001 > 10.77.1.1:80"}, {place: "client", packet: "udp 10.89.2.1:41001 > 10.77.1.1:80"},
	}},
	{"of the node", []kernelPacket{
		{place: "node", packet: "udp 10.77.1.1:41001 > 10.89.1.1:80"}, {place: "node", packet: "udp 10.77.1.1:41001 > 10.89.2.1:80"},
		{place: "node", packet: "udp 10.77.1.1:41001 > 10.89.1.1:7003"}, {place: "node", packet: "udp 10.77.1.1:41001 > 10.77.2.2:80"},
	}},
}

// authenticationRules ask for all that -m ah of IPv6 can ask for.
const authenticationRules = traceFirst + `COMMIT
*mangle
:FORWARD ACCEPT [0:0]
-A FORWARD -m ah --ahspi 5:9
-A FORWARD -m ah --ahspi 5 --ahlen 24
-A FORWARD -m ah ! --ahlen 24
-A FORWARD -m ah --ahlen 0
-A FORWARD -m ah --ahres
-A FORWARD -m ah --ahlen 8 --ahres
COMMIT
`

var authenticationCases = []kernelCase{
	{"headers", []kernelPacket{
		{place: "client", packet: "51 fd77:1::2 > fd77:2::2 spi 5 ah 24"}, {place: "client", packet: "51 fd77:1::2 > fd77:2::2 spi 9 ah 28"},
		{place: "client", packet: "51 fd77:1::2 > fd77:2::2 spi 10 ah 24/7"}, {place: "client", packet: "51 fd77:1::2 > fd77:2::2 spi 5 ah 8"},
		{place: "client", packet: "51 fd77:1::2 > fd77:2::2 spi 5 ah 1028/1"},
		{place: "client", packet: "udp [fd77:1::2]:41001 > [fd77:2::2]:80"},
	}},
}
