package network

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// netLab is two nodes with two pods each and an outside machine on one LAN:
//
//	outside 192.168.0.100
//	node1   192.168.0.1   pods a1 10.244.1.2, b1 10.244.1.3
//	node2   192.168.0.2   pods a2 10.244.2.2, b2 10.244.2.3
//
// Both nodes have the same rules.
type netLab struct {
	t *testing.T
	*Network
}

func newNetLab(t *testing.T, rules string) *netLab {
	l := &netLab{t, New()}
	for n := 1; n <= 2; n++ {
		l.addNode(n, rules)
		l.addPod(n, "a", 2)
		l.addPod(n, "b", 3)
	}
	l.add(packetsim.HostConfig{
		Name: "outside",
		Devices: []packetsim.Device{{Name: "eth0", Up: true,
			Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("192.168.0.100/24")}}}},
		Routes: []packetsim.Route{{Dst: netip.MustParsePrefix("10.244.0.0/16"), Via: netip.MustParseAddr("192.168.0.2"), Dev: "eth0"}},
	})
	require.NoError(t, l.Segment("lan", Port{"node1", "eth0"}, Port{"node2", "eth0"}, Port{"outside", "eth0"}))
	return l
}

func (l *netLab) add(config packetsim.HostConfig, listeners ...Listener) {
	h, err := packetsim.NewHost(config)
	require.NoError(l.t, err)
	require.NoError(l.t, l.AddHost(h, listeners...))
}

func (l *netLab) addNode(n int, rules string) {
	other := 3 - n
	gateway := netip.MustParsePrefix(fmt.Sprintf("10.244.%d.1/32", n))
	device := func(name string, prefix netip.Prefix) packetsim.Device {
		return packetsim.Device{Name: name, Up: true, Addresses: []packetsim.Address{{Prefix: prefix}}}
	}
	pod := func(dev string, last int) packetsim.Route {
		return packetsim.Route{Dst: netip.MustParsePrefix(fmt.Sprintf("10.244.%d.%d/32", n, last)), Dev: dev, Scope: packetsim.ScopeHost}
	}
	l.add(packetsim.HostConfig{
		Name: fmt.Sprintf("node%d", n),
		Devices: []packetsim.Device{
			device("eth0", netip.MustParsePrefix(fmt.Sprintf("192.168.0.%d/24", n))), device("veth-a", gateway), device("veth-b", gateway),
		},
		Routes: []packetsim.Route{
			pod("veth-a", 2), pod("veth-b", 3),
			{Dst: netip.MustParsePrefix(fmt.Sprintf("10.244.%d.0/24", other)), Via: netip.MustParseAddr(fmt.Sprintf("192.168.0.%d", other)),
				Dev: "eth0"},
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.254"), Dev: "eth0"},
			// Each node takes the other for the way to this network: a loop.
			{Dst: netip.MustParsePrefix("10.99.0.0/16"), Via: netip.MustParseAddr(fmt.Sprintf("192.168.0.%d", other)), Dev: "eth0"},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: restored(l.t, netfilter.IPv4, rules).Namespace(),
	}, Listener{Proto: inet.TCP, Port: 10250})
}

func (l *netLab) addPod(n int, name string, last int) {
	gateway := netip.MustParseAddr(fmt.Sprintf("10.244.%d.1", n))
	host := fmt.Sprintf("%s%d", name, n)
	listener := Listener{} // pods of kind a answer everything
	if name == "b" {
		listener = Listener{Proto: inet.TCP, Port: 9999}
	}
	l.add(packetsim.HostConfig{
		Name: host,
		Devices: []packetsim.Device{{Name: "eth0", Up: true,
			Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix(fmt.Sprintf("10.244.%d.%d/32", n, last))}}}},
		Routes: []packetsim.Route{
			{Dst: netip.PrefixFrom(gateway, 32), Dev: "eth0", Scope: packetsim.ScopeLink},
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: gateway, Dev: "eth0"},
		},
	}, listener)
	require.NoError(l.t, l.Link(Port{fmt.Sprintf("node%d", n), "veth-" + name}, Port{host, "eth0"}))
}

// connect prints what comes of a connection, one line for each way.
func (l *netLab) connect(from string, proto inet.Proto, to string) []string {
	addr, err := netip.ParseAddrPort(to)
	if err != nil {
		addr = netip.AddrPortFrom(netip.MustParseAddr(to), 0)
	}
	connections, err := l.Connect(Connect{From: from, Proto: proto, To: addr})
	require.NoError(l.t, err)
	var lines []string
	for _, c := range connections {
		switch {
		case c.Made:
			lines = append(lines, fmt.Sprintf("%.4g: %s at %s sees %s", c.Probability, c.Server, c.Asked, c.Client.Addr()))
		case c.Refused:
			lines = append(lines, fmt.Sprintf("%.4g: refused by %s with %s", c.Probability, c.RefusedBy, c.RefusedWith))
		default:
			lines = append(lines, fmt.Sprintf("%.4g: %s", c.Probability, c.Why))
		}
	}
	return lines
}

// labRules is one service by hand: 10.96.0.10:80 goes to a1 and a2, and node port 30080 and UDP
// port 53 go to a2. 10.96.0.20:80 goes to b2, which listens on another port. 10.96.0.99 and node
// port 30099 have nobody behind them.
const labRules = `*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:NOBODY - [0:0]
-A INPUT -p tcp -m tcp --dport 30099 -j REJECT --reject-with tcp-reset
-A FORWARD -j NOBODY
-A FORWARD -m conntrack --ctstate INVALID -j DROP
-A OUTPUT -j NOBODY
-A NOBODY -d 10.96.0.99/32 -p tcp -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable
-A NOBODY -d 10.96.0.99/32 -p tcp -m tcp --dport 81 -j REJECT --reject-with tcp-reset
-A NOBODY -d 10.96.0.99/32 -p udp -m udp --dport 53 -j REJECT --reject-with icmp-port-unreachable
-A NOBODY -d 10.96.0.99/32 -p tcp -m tcp --dport 82 -j DROP
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:A1 - [0:0]
:A2 - [0:0]
:MARK-MASQ - [0:0]
:NODEPORTS - [0:0]
:SERVICES - [0:0]
:WEB - [0:0]
-A PREROUTING -j SERVICES
-A OUTPUT -j SERVICES
-A POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE
-A A1 -s 10.244.1.2/32 -j MARK-MASQ
-A A1 -p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080
-A A2 -s 10.244.2.2/32 -j MARK-MASQ
-A A2 -p tcp -m tcp -j DNAT --to-destination 10.244.2.2:8080
-A MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
-A NODEPORTS -p tcp -m tcp --dport 30080 -j MARK-MASQ
-A NODEPORTS -p tcp -m tcp --dport 30080 -j A2
-A SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j WEB
-A SERVICES -d 10.96.0.10/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.244.2.2:5353
-A SERVICES -d 10.96.0.10/32 -p sctp -m sctp --dport 7 -j DNAT --to-destination 10.244.2.2:7777
-A SERVICES -d 10.96.0.20/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.2.3:8080
-A SERVICES -d 10.96.0.20/32 -p udp -m udp --dport 53 -j DNAT --to-destination 10.244.2.3:5353
-A SERVICES -m addrtype --dst-type LOCAL -j NODEPORTS
-A WEB ! -s 10.244.0.0/16 -j MARK-MASQ
-A WEB -m statistic --mode random --probability 0.50000000000 -j A1
-A WEB -j A2
COMMIT
`

// restored is a netfilter configuration filled by iptables-restore.
func restored(t testing.TB, family netfilter.Family, rules string) *fakeipt.Kernel {
	t.Helper()
	k := fakeipt.New(fakeipt.Options{})
	tool := "iptables-restore"
	if family == netfilter.IPv6 {
		tool = "ip6tables-restore"
	}
	var out, errOut bytes.Buffer
	require.Zerof(t, k.Run([]string{tool}, strings.NewReader(rules), &out, &errOut), "%s: %s", tool, &errOut)
	return k
}

func addresses(list ...string) []packetsim.Address {
	var as []packetsim.Address
	for _, s := range list {
		as = append(as, packetsim.Address{Prefix: netip.MustParsePrefix(s)})
	}
	return as
}

func parse(t testing.TB, packet string) inet.Input {
	t.Helper()
	in, err := inet.ParseInput(packet)
	require.NoError(t, err)
	return in
}

// removeHost takes a host and its wires' ends away. What is sent to it gets no answer from then on.
func (n *Network) removeHost(name string) {
	for _, w := range n.hosts[name].wires {
		w.ports = slices.DeleteFunc(w.ports, func(p plug) bool { return p.Host == name })
	}
	delete(n.hosts, name)
}
