package differ

import (
	"net"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/kindtest/internal/literal"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// The devices of the node: to the client and to the server.
const (
	clientDev = "cwdc"
	serverDev = "cwds"
)

// The places that packets are sent from.
const (
	clientPlace = "client"
	serverPlace = "server"
	nodePlace   = "node"
)

// world is the addresses of one family in the lab.
type world struct {
	family netfilter.Family
	// node are the node's own addresses: towards the client, towards the server, on lo.
	node []netip.Addr
	// clients and servers are neighbours of the node on either device; the first of the servers is the gateway to the services.
	clients, servers []netip.Addr
	// many are addresses of several machines: everybody on a link, groups that the node is in and others.
	many []netip.Addr
	// services are behind the gateway; dead ends lead nowhere: blackhole, prohibited, no route.
	services, deadEnds []netip.Addr
	networks           []netip.Prefix // of client, server and services
	gateway            netip.Addr
	blackhole          netip.Prefix
	prohibited         netip.Prefix
}

var worlds = map[netfilter.Family]*world{
	netfilter.IPv4: {
		family:   netfilter.IPv4,
		node:     literal.Addrs("10.78.1.1", "10.78.2.1", "127.0.0.1"),
		clients:  literal.Addrs("10.78.1.2", "10.78.1.3"),
		servers:  literal.Addrs("10.78.2.2", "10.78.2.3"),
		services: literal.Addrs("10.198.0.1", "10.198.0.2", "10.198.0.3"),
		many: literal.Addrs("10.78.1.255", "10.78.2.255", "127.255.255.255", "255.255.255.255",
			"224.0.0.1", "224.0.0.9", "239.1.1.1", "239.1.1.2"),
		deadEnds:   literal.Addrs("10.197.0.1", "10.196.0.1", "10.195.0.1"),
		networks:   literal.Prefixes("10.78.1.0/24", "10.78.2.0/24", "10.198.0.0/16", "10.78.0.0/16"),
		gateway:    netip.MustParseAddr("10.78.2.2"),
		blackhole:  netip.MustParsePrefix("10.197.0.0/16"),
		prohibited: netip.MustParsePrefix("10.196.0.0/16"),
	},
	netfilter.IPv6: {
		family:  netfilter.IPv6,
		node:    literal.Addrs("fd78:1::1", "fd78:2::1", "::1"),
		clients: literal.Addrs("fd78:1::2", "fd78:1::3"),
		servers: literal.Addrs("fd78:2::2", "fd78:2::3"),
		many:    literal.Addrs("ff02::1", "ff01::1", "ff05::2", "ff02::9", "ff02::1:ff00:1", "ff0e::1:1", "ff0e::1:2"),
		services: literal.Addrs("fd98::1", "fd98::2", "fd98::3",
			// what the prefixes of SNPT and DNPT make of addresses of the node and the server, and what they cannot translate
			"fd98:1::ffdf:0:0:1", "fd98:2::ffdf:0:0:2", "fd98::ffff:ffff:ffff:ffff"),
		deadEnds:   literal.Addrs("fd97::1", "fd96::1", "fd95::1"),
		networks:   literal.Prefixes("fd78:1::/64", "fd78:2::/64", "fd98::/16", "fd78::/16"),
		gateway:    netip.MustParseAddr("fd78:2::2"),
		blackhole:  netip.MustParsePrefix("fd97::/16"),
		prohibited: netip.MustParsePrefix("fd96::/16"),
	},
}

// broadcast goes to everybody on the link.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// leadsBySource says whether the node sends to the address by the device of the sender's, and looks for no route.
func leadsBySource(dst netip.Addr) bool { return dst.Is4() && (dst.IsMulticast() || dst == broadcast) }

// isBroadcast says whether the node takes the address for everybody's on a link of its own.
func isBroadcast(a netip.Addr) bool {
	return slices.Contains(worlds[netfilter.IPv4].many, a) && !a.IsMulticast()
}

// frameTo is the hardware address that a place sends a packet to, and its kind.
func frameTo(place string, dst netip.Addr) (net.HardwareAddr, inet.LinkType) {
	switch bytes := dst.AsSlice(); {
	case isBroadcast(dst):
		return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, inet.LinkBroadcast
	case dst.IsMulticast() && dst.Is4():
		return net.HardwareAddr{1, 0, 0x5e, bytes[1] & 0x7f, bytes[2], bytes[3]}, inet.LinkMulticast
	case dst.IsMulticast():
		return append(net.HardwareAddr{0x33, 0x33}, bytes[12:]...), inet.LinkMulticast
	}
	return nodeMAC(place), inet.LinkUnicast
}

// A packet with this bit in its mark takes routes of a table of its own.
const (
	routedMark                          = 0x20
	routedWord                          = "0x20" // as rules and packets have it
	routedPriority                      = 100
	routedTable    packetsim.RouteTable = 100
)

// markedRoutes are the routes of that table: other ways than those of the table main, and other ends. Clients have a way there that packets
// without the mark do not have, and a network that has none otherwise has one.
func (w *world) markedRoutes() []packetsim.Route {
	nowhere := w.deadEnds[2]
	return []packetsim.Route{
		{Table: routedTable, Dst: w.networks[0], Dev: serverDev},
		{Table: routedTable, Dst: w.networks[2], Via: w.clients[0], Dev: clientDev},
		{Table: routedTable, Dst: netip.PrefixFrom(nowhere, nowhere.BitLen()), Via: w.gateway, Dev: serverDev},
		{Table: routedTable, Dst: netip.PrefixFrom(w.servers[1], nowhere.BitLen()), Type: packetsim.RouteProhibit},
		{Table: routedTable, Dst: w.blackhole, Type: packetsim.RouteUnreachable},
		{Table: routedTable, Dst: w.prohibited, Type: packetsim.RouteBlackhole},
	}
}

// policyRules are the kernel's own and the one of the mark.
func (w *world) policyRules() []packetsim.PolicyRule {
	return []packetsim.PolicyRule{
		{Family: w.family, Table: packetsim.TableLocal},
		{Family: w.family, Priority: routedPriority, Mark: routedMark, MarkMask: routedMark, Table: routedTable},
		{Family: w.family, Priority: 32766, Table: packetsim.TableMain},
		{Family: w.family, Priority: 32767, Table: packetsim.TableDefault},
	}
}

// sysctls of the node, in the lab and in the walk.
func sysctls() map[string]string {
	values := map[string]string{
		"net.ipv4.ip_forward":                "1",
		"net.ipv6.conf.all.forwarding":       "1",
		"net.ipv4.conf.all.rp_filter":        "0",
		"net.ipv4.conf.all.send_redirects":   "0",
		"net.ipv4.icmp_ratemask":             "0", // no ICMP message is held back for its rate
		"net.ipv6.icmp.ratelimit":            "0",
		"net.ipv4.icmp_echo_ignore_all":      "1", // the node answers for closed ports alone
		"net.ipv6.icmp.echo_ignore_all":      "1",
		"net.ipv6.auto_flowlabels":           "0", // the flow label tells the lab's packets from the kernel's
		"net.ipv4.conf.cwdc.route_localnet":  "1",
		"net.netfilter.nf_conntrack_acct":    "0",
		"net.netfilter.nf_conntrack_helper":  "0",
		"net.ipv6.conf.cwdc.accept_ra":       "0",
		"net.ipv6.conf.cwds.accept_ra":       "0",
		"net.ipv4.conf.all.log_martians":     "0",
		"net.ipv4.conf.default.log_martians": "0",
	}
	for _, dev := range []string{clientDev, serverDev} {
		values["net.ipv4.conf."+dev+".rp_filter"] = "0"
		values["net.ipv4.conf."+dev+".send_redirects"] = "0"
	}
	return values
}

// joined are the groups that the node is in on the client's device.
var joined = literal.Addrs("239.1.1.1", "ff0e::1:1")

// newHost is the walk's node: like that of the lab.
func newHost(kernel *fakeipt.Kernel) (*packetsim.Host, error) {
	four, six := worlds[netfilter.IPv4], worlds[netfilter.IPv6]
	addresses := func(i int) []packetsim.Address {
		return []packetsim.Address{
			{Prefix: netip.PrefixFrom(four.node[i], 24)}, {Prefix: netip.PrefixFrom(six.node[i], 64)},
		}
	}
	var routes []packetsim.Route
	var rules []packetsim.PolicyRule
	for _, w := range []*world{four, six} {
		routes = append(routes,
			packetsim.Route{Dst: w.networks[2], Via: w.gateway, Dev: serverDev},
			packetsim.Route{Dst: w.blackhole, Type: packetsim.RouteBlackhole},
			packetsim.Route{Dst: w.prohibited, Type: packetsim.RouteProhibit})
		routes, rules = append(routes, w.markedRoutes()...), append(rules, w.policyRules()...)
	}
	return packetsim.NewHost(packetsim.HostConfig{
		Name: nodePlace,
		Devices: []packetsim.Device{
			{Name: clientDev, Up: true, MAC: nodeMAC(clientPlace).String(), MTU: 1500, Addresses: addresses(0), Groups: joined},
			{Name: serverDev, Up: true, MAC: nodeMAC(serverPlace).String(), MTU: 1500, Addresses: addresses(1), Groups: []netip.Addr{}},
		},
		Routes: routes, PolicyRules: rules, Sysctls: sysctls(), Netfilter: kernel.Namespace(),
	})
}

// placeOf is the place behind a device of the node.
func placeOf(dev string) string {
	switch dev {
	case clientDev:
		return clientPlace
	case serverDev:
		return serverPlace
	}
	return nodePlace
}

// streamOf parts what is drawn for one dialect from what is drawn for the other.
func streamOf(d netfilter.Dialect) uint64 { return uint64(slices.Index(netfilter.Dialects(), d)) }

// tool is the name of a tool of the dialect and family: "iptables-restore" becomes "ip6tables-nft-restore".
func tool(name string, d netfilter.Dialect, f netfilter.Family) string {
	prefix := "iptables"
	if f == netfilter.IPv6 {
		prefix = "ip6tables"
	}
	return prefix + "-" + string(d) + name[len("iptables"):]
}

// nodeMAC is the hardware address of the node's device to the place.
func nodeMAC(place string) net.HardwareAddr { return net.HardwareAddr{2, 0x78, 0, 0, 0, place[0]} }

// sideMAC is the hardware address of the place's device.
func sideMAC(place string) net.HardwareAddr { return net.HardwareAddr{2, 0x79, 0, 0, 0, place[0]} }
