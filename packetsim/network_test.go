package packetsim

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	l := &netLab{t, NewNetwork()}
	for n := 1; n <= 2; n++ {
		l.addNode(n, rules)
		l.addPod(n, "a", 2)
		l.addPod(n, "b", 3)
	}
	l.add(HostConfig{
		Name:    "outside",
		Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: netip.MustParsePrefix("192.168.0.100/24")}}}},
		Routes:  []Route{{Dst: netip.MustParsePrefix("10.244.0.0/16"), Via: netip.MustParseAddr("192.168.0.2"), Dev: "eth0"}},
	})
	require.NoError(t, l.Segment("lan", Port{"node1", "eth0"}, Port{"node2", "eth0"}, Port{"outside", "eth0"}))
	return l
}

func (l *netLab) add(config HostConfig, listeners ...Listener) {
	h, err := NewHost(config)
	require.NoError(l.t, err)
	require.NoError(l.t, l.AddHost(h, listeners...))
}

func (l *netLab) addNode(n int, rules string) {
	other := 3 - n
	gateway := netip.MustParsePrefix(fmt.Sprintf("10.244.%d.1/32", n))
	device := func(name string, prefix netip.Prefix) Device {
		return Device{Name: name, Up: true, Addresses: []Address{{Prefix: prefix}}}
	}
	pod := func(dev string, last int) Route {
		return Route{Dst: netip.MustParsePrefix(fmt.Sprintf("10.244.%d.%d/32", n, last)), Dev: dev, Scope: ScopeHost}
	}
	l.add(HostConfig{
		Name: fmt.Sprintf("node%d", n),
		Devices: []Device{
			device("eth0", netip.MustParsePrefix(fmt.Sprintf("192.168.0.%d/24", n))), device("veth-a", gateway), device("veth-b", gateway),
		},
		Routes: []Route{
			pod("veth-a", 2), pod("veth-b", 3),
			{Dst: netip.MustParsePrefix(fmt.Sprintf("10.244.%d.0/24", other)), Via: netip.MustParseAddr(fmt.Sprintf("192.168.0.%d", other)), Dev: "eth0"},
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.254"), Dev: "eth0"},
			// Each node takes the other for the way to this network: a loop.
			{Dst: netip.MustParsePrefix("10.99.0.0/16"), Via: netip.MustParseAddr(fmt.Sprintf("192.168.0.%d", other)), Dev: "eth0"},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: restored(l.t, fakeipt.IPv4, rules),
	}, Listener{Proto: TCP, Port: 10250})
}

func (l *netLab) addPod(n int, name string, last int) {
	gateway := netip.MustParseAddr(fmt.Sprintf("10.244.%d.1", n))
	host := fmt.Sprintf("%s%d", name, n)
	listener := Listener{} // pods of kind a answer everything
	if name == "b" {
		listener = Listener{Proto: TCP, Port: 9999}
	}
	l.add(HostConfig{
		Name:    host,
		Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: netip.MustParsePrefix(fmt.Sprintf("10.244.%d.%d/32", n, last))}}}},
		Routes: []Route{
			{Dst: netip.PrefixFrom(gateway, 32), Dev: "eth0", Scope: ScopeLink},
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: gateway, Dev: "eth0"},
		},
	}, listener)
	require.NoError(l.t, l.Link(Port{fmt.Sprintf("node%d", n), "veth-" + name}, Port{host, "eth0"}))
}

// connect prints what comes of a connection, one line for each way.
func (l *netLab) connect(from string, proto Proto, to string) []string {
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

// withFilter is labRules with one more rule at the head of FORWARD.
func withFilter(rule string) string {
	return strings.Replace(labRules, "-A FORWARD", rule+"\n-A FORWARD", 1)
}

func TestNetworkConnect(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules string
		from  string
		proto Proto
		to    string
		want  []string
	}{
		{"a pod reaches a pod of its node", labRules, "b1", TCP, "10.244.1.2:8080",
			[]string{"1: a1 at 10.244.1.2:8080 sees 10.244.1.3"}},
		{"a pod reaches a pod of the other node", labRules, "b1", TCP, "10.244.2.2:8080",
			[]string{"1: a2 at 10.244.2.2:8080 sees 10.244.1.3"}},
		{"a pod reaches both endpoints of a cluster IP with its own address", labRules, "b1", TCP, "10.96.0.10:80",
			[]string{"0.5: a1 at 10.244.1.2:8080 sees 10.244.1.3", "0.5: a2 at 10.244.2.2:8080 sees 10.244.1.3"}},
		{"an endpoint reaches itself through its service, masqueraded", labRules, "a1", TCP, "10.96.0.10:80",
			[]string{"0.5: a1 at 10.244.1.2:8080 sees 10.244.1.1", "0.5: a2 at 10.244.2.2:8080 sees 10.244.1.2"}},
		{"a node reaches a cluster IP, masqueraded", labRules, "node1", TCP, "10.96.0.10:80",
			[]string{"0.5: a1 at 10.244.1.2:8080 sees 10.244.1.1", "0.5: a2 at 10.244.2.2:8080 sees 192.168.0.1"}},
		{"a node port of one node leads to the other node and back the same way", labRules, "outside", TCP, "192.168.0.1:30080",
			[]string{"1: a2 at 10.244.2.2:8080 sees 192.168.0.1"}},
		{"a node port without masquerade: the reply takes the short way and is not the client's",
			strings.ReplaceAll(labRules, "-A NODEPORTS -p tcp -m tcp --dport 30080 -j MARK-MASQ\n", ""), "outside", TCP, "192.168.0.1:30080",
			[]string{"1: the reply came from 10.244.2.2:8080, the client called 192.168.0.1:30080"}},
		{"a hairpin without masquerade: the pod answers itself",
			strings.ReplaceAll(labRules, "-A A1 -s 10.244.1.2/32 -j MARK-MASQ\n", ""), "a1", TCP, "10.96.0.10:80",
			[]string{
				"0.5: the first packet was dropped at a1: martian source",
				"0.5: a2 at 10.244.2.2:8080 sees 10.244.1.2",
			}},
		{"UDP", labRules, "b1", UDP, "10.96.0.10:53", []string{"1: a2 at 10.244.2.2:5353 sees 10.244.1.3"}},
		{"SCTP", labRules, "b1", SCTP, "10.96.0.10:7", []string{"1: a2 at 10.244.2.2:7777 sees 10.244.1.3"}},
		{"an echo request", labRules, "b1", ICMP, "10.244.2.3", []string{"1: b2 at 10.244.2.3:0 sees 10.244.1.3"}},
		{"a host of its own", labRules, "node1", TCP, "192.168.0.1:10250", []string{"1: node1 at 192.168.0.1:10250 sees 192.168.0.1"}},

		{"a reply that a node drops", withFilter("-A FORWARD -s 10.244.2.2/32 -p tcp -m tcp --sport 8080 -j DROP"), "b1", TCP, "10.244.2.2:8080",
			[]string{"1: the reply was dropped at node2: filter:FORWARD:rule:1 -A FORWARD -s 10.244.2.2/32 -p tcp -m tcp --sport 8080 -j DROP"}},
		{"an ACK that a node drops", withFilter("-A FORWARD -p tcp -m tcp --tcp-flags SYN,ACK ACK -j DROP"), "b1", TCP, "10.244.1.2:8080",
			[]string{"1: the client's ACK does not reach the server's socket: b1 -> node1: dropped (filter:FORWARD:rule:1 -A FORWARD -p tcp -m tcp --tcp-flags SYN,ACK ACK -j DROP)"}},
		{"a reset that a node drops", withFilter("-A FORWARD -p tcp -m tcp --tcp-flags RST RST -j DROP"), "b1", TCP, "10.244.2.3:80",
			[]string{"1: b2 refused, and the client does not learn it: b2 -> node2: dropped (filter:FORWARD:rule:1 -A FORWARD -p tcp -m tcp --tcp-flags RST RST -j DROP)"}},

		{"a REJECT answers a pod", labRules, "b1", TCP, "10.96.0.99:80", []string{"1: refused by 10.244.1.1 with icmp 3/3"}},
		{"a REJECT answers a datagram", labRules, "b1", UDP, "10.96.0.99:53", []string{"1: refused by 10.244.1.1 with icmp 3/3"}},
		{"a REJECT with a reset speaks for the address that was called", labRules, "b1", TCP, "10.96.0.99:81",
			[]string{"1: refused by 10.96.0.99 with tcp-reset"}},
		{"a REJECT in INPUT", labRules, "outside", TCP, "192.168.0.2:30099", []string{"1: refused by 192.168.0.2 with tcp-reset"}},
		{"a DROP does not answer", labRules, "b1", TCP, "10.96.0.99:82",
			[]string{"1: the first packet was dropped at node1: filter:NOBODY:rule:4 -A NOBODY -d 10.96.0.99/32 -p tcp -m tcp --dport 82 -j DROP"}},
		{"a server that does not listen resets, and the client sees the service's address", labRules, "b1", TCP, "10.96.0.20:80",
			[]string{"1: refused by 10.96.0.20 with tcp-reset"}},
		{"a server without the UDP port says so, and the error comes back translated", labRules, "b1", UDP, "10.96.0.20:53",
			[]string{"1: refused by 10.96.0.20 with icmp 3/3"}},
		{"an address that nobody has", labRules, "outside", TCP, "192.168.0.77:80",
			[]string{"1: the first packet was lost at outside: nobody on lan has the address 192.168.0.77"}},
		{"a network that the client has no route to", labRules, "outside", TCP, "203.0.113.1:80",
			[]string{"1: host outside: source for 203.0.113.1: no route"}},
		{"a loop ends with the packet's hops", labRules, "b1", UDP, "10.99.0.1:80",
			[]string{"1: the first packet was rejected at node2: ttl exceeded"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newNetLab(t, tc.rules)
			assert.Equal(t, tc.want, l.connect(tc.from, tc.proto, tc.to))
			l.requireUntouched()
		})
	}
}

// requireUntouched checks that no host remembers a packet.
func (l *netLab) requireUntouched() {
	for _, name := range l.Hosts() {
		require.Empty(l.t, l.Host(name).Conntrack(), "%s remembers a connection", name)
		if kernel := l.Host(name).Netfilter(); kernel != nil {
			for _, table := range kernel.Ruleset(fakeipt.IPv4).Tables() {
				for chain := range table.Chains() {
					for i, rule := range chain.Rules {
						require.Zero(l.t, rule.Counters.Packets(), "%s: %s %d", name, chain.Name, i+1)
					}
				}
			}
		}
	}
}

func TestNetworkSendFollowsThePacket(t *testing.T) {
	l := newNetLab(t, labRules)
	journeys, err := l.Send("b1", Packet{Proto: TCP, Dst: netip.MustParseAddr("10.96.0.10"), SrcPort: 40000, DstPort: 80, TCPFlags: SYN})
	require.NoError(t, err)
	require.Len(t, journeys, 2)
	assert.Equal(t, "b1 -> node1 -> a1: delivered", journeys[0].String())
	assert.Equal(t, "b1 -> node1 -> node2 -> a2: delivered", journeys[1].String())
	assert.Equal(t, 0.5, journeys[1].Probability)
	assert.Equal(t, "tcp 10.244.1.3:40000 > 10.244.2.2:8080", strings.Split(Input{Packet: journeys[1].Packet}.String(), " ttl")[0])
	assert.Zero(t, journeys[1].Hops[2].Input.Mark, "a mark does not cross a wire")

	journeys, err = l.Send("b1", Packet{Proto: UDP, Dst: netip.MustParseAddr("10.99.0.1"), SrcPort: 1, DstPort: 2})
	require.NoError(t, err)
	require.Len(t, journeys, 1)
	assert.Equal(t, EndRejected, journeys[0].End)
	require.Len(t, journeys[0].Answers, 1)
	assert.Equal(t, "b1", journeys[0].Answers[0].At, "the sender is told that the hops ran out")
	assert.Equal(t, uint8(icmpTimeExceeded), journeys[0].Answers[0].Packet.ICMPType)
}

func TestNetworkRemoveHost(t *testing.T) {
	l := newNetLab(t, labRules)
	l.RemoveHost("a2")
	assert.Equal(t, []string{"1: the first packet was lost at node2: nobody on node2/veth-a - a2/eth0 has the address 10.244.2.2"},
		l.connect("b1", TCP, "10.244.2.2:8080"))
}

func TestNetworkRefusesBadWiring(t *testing.T) {
	l := newNetLab(t, labRules)
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"a host twice", l.AddHost(l.Host("a1").Host), "network: host a1 is there already"},
		{"a wire to nobody", l.Link(Port{"a0", "eth0"}, Port{"a1", "eth0"}), "there is no host a0"},
		{"a wire to no device", l.Segment("s", Port{"a1", "eth9"}), "host a1 has no device eth9"},
		{"a second wire at a device", l.Segment("s", Port{"a1", "eth0"}), "a1/eth0 has a wire already"},
		{"a device twice on a wire", l.Segment("s", Port{"a1", "lo"}, Port{"a1", "lo"}), "a1/lo has a wire already"},
	} {
		t.Run(tc.name, func(t *testing.T) { assert.ErrorContains(t, tc.err, tc.want) })
	}
}

func TestNetworkConnectRefusesNonsense(t *testing.T) {
	l := newNetLab(t, labRules)
	to := netip.MustParseAddrPort("10.96.0.10:80")
	for _, tc := range []struct {
		name string
		c    Connect
		want string
	}{
		{"an unknown host", Connect{From: "x", Proto: TCP, To: to}, "there is no host x"},
		{"no address", Connect{From: "a1", Proto: TCP}, "the address to call is missing"},
		{"TCP without port", Connect{From: "a1", Proto: TCP, To: netip.AddrPortFrom(to.Addr(), 0)}, "tcp needs a port"},
		{"ICMP with port", Connect{From: "a1", Proto: ICMP, To: to}, "icmp has no ports"},
		{"ICMPv6 to IPv4", Connect{From: "a1", Proto: ICMPv6, To: netip.AddrPortFrom(to.Addr(), 0)}, "icmpv6 is of the other address family"},
		{"a source of the other family", Connect{From: "a1", Proto: TCP, To: to, Source: netip.IPv6Loopback()}, "the source ::1 is of the other address family"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := l.Connect(tc.c)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func TestFlowTCP(t *testing.T) {
	l := newNetLab(t, labRules)
	want := Connect{From: "b1", Proto: TCP, To: netip.MustParseAddrPort("10.96.0.10:80")}
	flow, err := l.Establish(want, func(ways []Connection) int {
		for i := range ways {
			if ways[i].Server == "a2" {
				return i
			}
		}
		return -1
	})
	require.NoError(t, err)
	assert.Equal(t, "a2", flow.Connection.Server)
	assert.True(t, flow.Connection.SourceKept())
	require.Len(t, l.Host("node1").Conntrack(), 1)
	assert.Equal(t, "ESTABLISHED", l.Host("node1").Conntrack()[0].State)

	for _, dir := range []Direction{FromClient, FromServer} {
		journeys, err := flow.Send(dir, Segment{})
		require.NoError(t, err)
		require.Len(t, journeys, 1, "an established connection leaves nothing to chance")
		assert.True(t, flow.Received(dir, &journeys[0]), journeys[0].String())
	}

	journeys, err := flow.Send(FromServer, Segment{OutOfWindow: true})
	require.NoError(t, err)
	assert.False(t, flow.Received(FromServer, &journeys[0]))
	assert.Equal(t, EndDropped, journeys[0].End, "FORWARD drops what is INVALID")

	_, err = flow.Send(FromClient, Segment{Flags: FIN | ACK})
	require.NoError(t, err)
	assert.Equal(t, "FIN_WAIT", l.Host("node1").Conntrack()[0].State)

	// The node remembers the one flow: it still leads to a2, with any other source port to both.
	again, err := l.Connect(want)
	require.NoError(t, err)
	assert.Len(t, again, 1)
}

func TestFlowUDPKeepsItsServer(t *testing.T) {
	l := newNetLab(t, labRules)
	flow, err := l.Establish(Connect{From: "b1", Proto: UDP, To: netip.MustParseAddrPort("10.96.0.10:53")}, nil)
	require.NoError(t, err)
	for _, dir := range []Direction{FromClient, FromServer, FromClient} {
		journeys, err := flow.Send(dir, Segment{})
		require.NoError(t, err)
		require.Len(t, journeys, 1)
		assert.True(t, flow.Received(dir, &journeys[0]), journeys[0].String())
	}
	_, err = flow.Send(FromClient, Segment{Flags: SYN})
	assert.ErrorContains(t, err, "only TCP segments have flags")
}

func TestEstablishSaysWhyNothingIsMade(t *testing.T) {
	l := newNetLab(t, labRules)
	_, err := l.Establish(Connect{From: "b1", Proto: TCP, To: netip.MustParseAddrPort("10.96.0.99:80")}, nil)
	require.ErrorContains(t, err, "none of 1 ways was chosen, the first one is: refused by 10.244.1.1 with icmp 3/3")
	l.requireUntouched()
}

func ExampleNetwork_Connect() {
	network := NewNetwork()
	for _, machine := range []struct{ name, address string }{{"client", "192.168.0.2/24"}, {"server", "192.168.0.3/24"}} {
		host, err := NewHost(HostConfig{
			Name:    machine.name,
			Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: netip.MustParsePrefix(machine.address)}}}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := network.AddHost(host, Listener{Proto: TCP, Port: 80}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := network.Segment("lan", Port{"client", "eth0"}, Port{"server", "eth0"}); err != nil {
		fmt.Println(err)
		return
	}
	for _, to := range []string{"192.168.0.3:80", "192.168.0.3:81"} {
		connections, err := network.Connect(Connect{From: "client", Proto: TCP, To: netip.MustParseAddrPort(to)})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s made=%t %s\n", to, connections[0].Made, strings.TrimSpace(connections[0].Server+" "+connections[0].Why))
	}
	// Output:
	// 192.168.0.3:80 made=true server
	// 192.168.0.3:81 made=false server refused by 192.168.0.3 with tcp-reset
}
