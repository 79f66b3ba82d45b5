package judge

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
)

// client is where packets come from.
type client struct {
	name   string
	device string // empty: the node itself
	addr   netip.Addr
}

// clients are one of each kind. Pods with an even number have a device of their own, those with an odd one are behind the
// bridge, so that each way of recognising local traffic sees both sorts.
var clients = map[v1.IPFamily][]client{
	v1.IPv4Protocol: {
		{"pod behind the bridge", peers.PodBridge, netip.MustParseAddr("10.244.1.11")},
		{"pod with a device", peers.PodDevicePrefix + "12", netip.MustParseAddr("10.244.1.12")},
		{"pod of another node", "eth0", netip.MustParseAddr("10.244.2.13")},
		{"other node", "eth0", netip.MustParseAddr("192.168.0.3")},
		{"outside, allowed", "eth0", netip.MustParseAddr("203.0.113.7")},
		{"outside", "eth0", netip.MustParseAddr("192.0.2.7")},
		{"node", "", netip.Addr{}},
		{"localhost", "", netip.MustParseAddr("127.0.0.1")},
	},
	v1.IPv6Protocol: {
		{"pod behind the bridge", peers.PodBridge, netip.MustParseAddr("fd00:10:244:1::b")},
		{"pod with a device", peers.PodDevicePrefix + "12", netip.MustParseAddr("fd00:10:244:1::c")},
		{"pod of another node", "eth0", netip.MustParseAddr("fd00:10:244:2::d")},
		{"other node", "eth0", netip.MustParseAddr("2001:db8::3")},
		{"outside, allowed", "eth0", netip.MustParseAddr("2001:db8:9::7")},
		{"outside", "eth0", netip.MustParseAddr("2001:db9::7")},
		{"node", "", netip.Addr{}},
		{"localhost", "", netip.IPv6Loopback()},
	},
}

// packetTo is the first packet of a connection. A loopback address is no source of packets to elsewhere.
func (c *client) packetTo(d destination) (inet.Input, bool) {
	if c.addr.IsLoopback() && !d.addr.IsLoopback() {
		return inet.Input{}, false
	}
	p := inet.Packet{Proto: d.proto, Src: c.addr, Dst: d.addr, SrcPort: 40000, DstPort: d.port}
	if d.proto == inet.TCP {
		p.TCPFlags = inet.SYN
	}
	return inet.Input{Packet: p, In: c.device, Local: c.device == ""}, true
}

// nodeAddresses are the node's addresses of a family.
func nodeAddresses(family v1.IPFamily) []netip.Addr {
	var list []netip.Addr
	for _, prefix := range peers.Addresses() {
		if prefix.Addr().Is6() == (family == v1.IPv6Protocol) {
			list = append(list, prefix.Addr())
		}
	}
	return list
}

// newHost puts a peer's kernel into the node's network.
func newHost(peer peers.Peer) (*packetsim.Host, error) {
	device := func(name string, addresses ...string) packetsim.Device {
		d := packetsim.Device{Name: name, Kind: "veth", MTU: 1500, Up: true}
		for _, text := range addresses {
			d.Addresses = append(d.Addresses, packetsim.Address{Prefix: netip.MustParsePrefix(text)})
		}
		return d
	}
	route := func(dst, via, dev string) packetsim.Route {
		r := packetsim.Route{Dst: netip.MustParsePrefix(dst), Dev: dev}
		if via != "" {
			r.Via = netip.MustParseAddr(via)
		}
		return r
	}
	return packetsim.NewHost(packetsim.HostConfig{
		Name: peers.NodeName,
		Devices: []packetsim.Device{
			device("eth0", "192.168.0.2/24", "2001:db8::2/64", "fe80::1/64"),
			device("eth1", "192.168.1.2/24", "2001:db8:1::2/64"),
			device(peers.PodBridge, "10.244.1.1/24", "fd00:10:244:1::1/64"),
			device(peers.PodDevicePrefix + "12"), device(peers.PodDevicePrefix + "14"),
		},
		Routes: []packetsim.Route{
			route("10.244.1.12/32", "", peers.PodDevicePrefix+"12"), route("fd00:10:244:1::c/128", "", peers.PodDevicePrefix+"12"),
			route("10.244.1.14/32", "", peers.PodDevicePrefix+"14"), route("fd00:10:244:1::e/128", "", peers.PodDevicePrefix+"14"),
			route("10.244.0.0/16", "192.168.0.3", "eth0"), route("fd00:10:244::/56", "2001:db8::3", "eth0"),
			route("0.0.0.0/0", "192.168.0.254", "eth0"), route("::/0", "2001:db8::fe", "eth0"),
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"},
		Netfilter: peer.Kernel().Namespace(),
	})
}
