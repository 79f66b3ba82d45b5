package network

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// withFilter is labRules with one more rule at the head of FORWARD.
func withFilter(rule string) string {
	return strings.Replace(labRules, "-A FORWARD", rule+"\n-A FORWARD", 1)
}

func TestNetworkConnect(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules string
		from  string
		proto inet.Proto
		to    string
		want  []string
	}{
		{"a pod reaches a pod of its node", labRules, "b1", inet.TCP, "10.244.1.2:8080",
			[]string{"1: a1 at 10.244.1.2:8080 sees 10.244.1.3"}},
		{"a pod reaches a pod of the other node", labRules, "b1", inet.TCP, "10.244.2.2:8080",
			[]string{"1: a2 at 10.244.2.2:8080 sees 10.244.1.3"}},
		{"a pod reaches both endpoints of a cluster IP with its own address", labRules, "b1", inet.TCP, "10.96.0.10:80",
			[]string{"0.5: a1 at 10.244.1.2:8080 sees 10.244.1.3", "0.5: a2 at 10.244.2.2:8080 sees 10.244.1.3"}},
		{"an endpoint reaches itself through its service, masqueraded", labRules, "a1", inet.TCP, "10.96.0.10:80",
			[]string{"0.5: a1 at 10.244.1.2:8080 sees 10.244.1.1", "0.5: a2 at 10.244.2.2:8080 sees 10.244.1.2"}},
		{"a node reaches a cluster IP, masqueraded", labRules, "node1", inet.TCP, "10.96.0.10:80",
			[]string{"0.5: a1 at 10.244.1.2:8080 sees 10.244.1.1", "0.5: a2 at 10.244.2.2:8080 sees 192.168.0.1"}},
		{"a node port of one node leads to the other node and back the same way", labRules, "outside", inet.TCP, "192.168.0.1:30080",
			[]string{"1: a2 at 10.244.2.2:8080 sees 192.168.0.1"}},
		{"a node port without masquerade: the reply takes the short way and is not the client's",
			strings.ReplaceAll(labRules, "-A NODEPORTS -p tcp -m tcp --dport 30080 -j MARK-MASQ\n", ""), "outside", inet.TCP,
			"192.168.0.1:30080",
			[]string{"1: the reply came from 10.244.2.2:8080, the client called 192.168.0.1:30080"}},
		{"a hairpin without masquerade: the pod answers itself",
			strings.ReplaceAll(labRules, "-A A1 -s 10.244.1.2/32 -j MARK-MASQ\n", ""), "a1", inet.TCP, "10.96.0.10:80",
			[]string{
				"0.5: the first packet was dropped at a1: martian source",
				"0.5: a2 at 10.244.2.2:8080 sees 10.244.1.2",
			}},
		{"UDP", labRules, "b1", inet.UDP, "10.96.0.10:53", []string{"1: a2 at 10.244.2.2:5353 sees 10.244.1.3"}},
		{"SCTP", labRules, "b1", inet.SCTP, "10.96.0.10:7", []string{"1: a2 at 10.244.2.2:7777 sees 10.244.1.3"}},
		{"an echo request", labRules, "b1", inet.ICMP, "10.244.2.3", []string{"1: b2 at 10.244.2.3:0 sees 10.244.1.3"}},
		{"a host of its own", labRules, "node1", inet.TCP, "192.168.0.1:10250", []string{"1: node1 at 192.168.0.1:10250 sees 192.168.0.1"}},

		{"a reply that a node drops", withFilter("-A FORWARD -s 10.244.2.2/32 -p tcp -m tcp --sport 8080 -j DROP"), "b1", inet.TCP,
			"10.244.2.2:8080",
			[]string{"1: the reply was dropped at node2: filter:FORWARD:rule:1 -A FORWARD -s 10.244.2.2/32 -p tcp -m tcp --sport 8080 -j DROP"}},
		{"an ACK that a node drops", withFilter("-A FORWARD -p tcp -m tcp --tcp-flags SYN,ACK ACK -j DROP"), "b1", inet.TCP,
			"10.244.1.2:8080",
			[]string{"1: the client's ACK does not reach the server's socket: b1 -> node1: dropped (filter:FORWARD:rule:1 -A FORWARD -p tcp -m " +
				"tcp --tcp-flags SYN,ACK ACK -j DROP)"}},
		{"a reset that a node drops", withFilter("-A FORWARD -p tcp -m tcp --tcp-flags RST RST -j DROP"), "b1", inet.TCP, "10.244.2.3:80",
			[]string{"1: b2 refused, and the client does not learn it: b2 -> node2: dropped (filter:FORWARD:rule:1 -A FORWARD -p tcp -m tcp " +
				"--tcp-flags RST RST -j DROP)"}},

		{"a REJECT answers a pod", labRules, "b1", inet.TCP, "10.96.0.99:80", []string{"1: refused by 10.244.1.1 with icmp 3/3"}},
		{"a REJECT answers a datagram", labRules, "b1", inet.UDP, "10.96.0.99:53", []string{"1: refused by 10.244.1.1 with icmp 3/3"}},
		{"a REJECT with a reset speaks for the address that was called", labRules, "b1", inet.TCP, "10.96.0.99:81",
			[]string{"1: refused by 10.96.0.99 with tcp-reset"}},
		{"a REJECT in INPUT", labRules, "outside", inet.TCP, "192.168.0.2:30099", []string{"1: refused by 192.168.0.2 with tcp-reset"}},
		{"a DROP does not answer", labRules, "b1", inet.TCP, "10.96.0.99:82",
			[]string{"1: the first packet was dropped at node1: filter:NOBODY:rule:4 -A NOBODY -d 10.96.0.99/32 -p tcp -m tcp --dport 82 -j DROP"}},
		{"a server that does not listen resets, and the client sees the service's address", labRules, "b1", inet.TCP, "10.96.0.20:80",
			[]string{"1: refused by 10.96.0.20 with tcp-reset"}},
		{"a server without the UDP port says so, and the error comes back translated", labRules, "b1", inet.UDP, "10.96.0.20:53",
			[]string{"1: refused by 10.96.0.20 with icmp 3/3"}},
		{"an address that nobody has", labRules, "outside", inet.TCP, "192.168.0.77:80",
			[]string{"1: the first packet was lost at outside: no host on lan has the address 192.168.0.77"}},
		{"a network that the client has no route to", labRules, "outside", inet.TCP, "203.0.113.1:80",
			[]string{"1: host outside: source for 203.0.113.1: no route"}},
		{"a loop ends with the packet's hops", labRules, "b1", inet.UDP, "10.99.0.1:80",
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
		if kernel := fakeipt.First(l.Host(name).Netfilter()); kernel != nil {
			for _, table := range kernel.Ruleset(netfilter.IPv4).Tables() {
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
	journeys, err := l.Send("b1", inet.Packet{Proto: inet.TCP, Dst: netip.MustParseAddr("10.96.0.10"), SrcPort: 40000, DstPort: 80,
		TCPFlags: inet.SYN})
	require.NoError(t, err)
	require.Len(t, journeys, 2)
	assert.Equal(t, "b1 -> node1 -> a1: delivered", journeys[0].String())
	assert.Equal(t, "b1 -> node1 -> node2 -> a2: delivered", journeys[1].String())
	assert.Equal(t, 0.5, journeys[1].Probability)
	assert.Equal(t, "tcp 10.244.1.3:40000 > 10.244.2.2:8080", journeys[1].Packet.Header())
	assert.Zero(t, journeys[1].Hops[2].Input.Mark, "a mark does not cross a wire")

	journeys, err = l.Send("b1", inet.Packet{Proto: inet.UDP, Dst: netip.MustParseAddr("10.99.0.1"), SrcPort: 1, DstPort: 2})
	require.NoError(t, err)
	require.Len(t, journeys, 1)
	assert.Equal(t, EndRejected, journeys[0].End)
	require.Len(t, journeys[0].Answers, 1)
	assert.Equal(t, "b1", journeys[0].Answers[0].At, "the sender is told that the hops ran out")
	assert.Equal(t, uint8(inet.ICMPTimeExceeded), journeys[0].Answers[0].Packet.ICMPType)
}

func TestNetworkRemoveHost(t *testing.T) {
	l := newNetLab(t, labRules)
	l.removeHost("a2")
	assert.Equal(t, []string{"1: the first packet was lost at node2: no host on node2/veth-a - a2/eth0 has the address 10.244.2.2"},
		l.connect("b1", inet.TCP, "10.244.2.2:8080"))
}

// TestNetworkExchange walks through another host of the same name, and through the first one again.
func TestNetworkExchange(t *testing.T) {
	l := newNetLab(t, labRules)
	asItIs := l.connect("b1", inet.TCP, "10.244.2.2:8080")
	config := l.Host("node2").Config()
	config.Sysctls = maps.Clone(config.Sysctls)
	config.Sysctls["net.ipv4.ip_forward"], config.Sysctls["net.ipv4.conf.all.forwarding"] = "0", "0"
	other, err := packetsim.NewHost(config)
	require.NoError(t, err)
	back := l.Exchange(map[string]*packetsim.Host{"node2": other})
	exchanged := l.connect("b1", inet.TCP, "10.244.2.2:8080")
	assert.Len(t, exchanged, 1)
	assert.Contains(t, exchanged[0], "the first packet was dropped at node2")
	back()
	assert.Equal(t, asItIs, l.connect("b1", inet.TCP, "10.244.2.2:8080"))
}

// TestNetworkSaysWhereAPacketIsLost: who sent it last, by which device and for which neighbour, is data beside the text.
func TestNetworkSaysWhereAPacketIsLost(t *testing.T) {
	l := newNetLab(t, labRules)
	lost := func() *Loss {
		t.Helper()
		journeys, err := l.Send("b1", parse(t, "tcp 10.244.1.3:40000 > 10.244.2.2:8080 local").Packet)
		require.NoError(t, err)
		require.Len(t, journeys, 1)
		return journeys[0].Lost
	}
	assert.Nil(t, lost(), "it is delivered")
	l.removeHost("a2")
	want := Loss{Host: "node2", Device: "veth-a", NextHop: netip.MustParseAddr("10.244.2.2"), Wire: "node2/veth-a - a2/eth0"}
	assert.Equal(t, &want, lost())
	l.removeHost("node2")
	assert.Equal(t, &Loss{Host: "node1", Device: "eth0", NextHop: netip.MustParseAddr("192.168.0.2"), Wire: "lan"}, lost())
}

// TestNetworkStar: leaves send to the centre whatever the next hop is, and the centre sends to the leaf that has the next hop's address.
func TestNetworkStar(t *testing.T) {
	n := New()
	for host, config := range map[string]packetsim.HostConfig{
		"router": {Sysctls: map[string]string{"net.ipv4.ip_forward": "1"}, Routes: []packetsim.Route{
			{Dst: netip.MustParsePrefix("10.244.1.0/24"), Dev: "eth0"}}},
		"a": {Devices: []packetsim.Device{{Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("10.244.1.2/32")}}}},
			Routes: []packetsim.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0"}}},
		"b": {Devices: []packetsim.Device{{Addresses: []packetsim.Address{{Prefix: netip.MustParsePrefix("10.244.1.3/32")}}}},
			Routes: []packetsim.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Dev: "eth0"}}},
	} {
		config.Name = host
		config.Devices = append(config.Devices, packetsim.Device{})[:1]
		config.Devices[0].Name, config.Devices[0].Up = "eth0", true
		h, err := packetsim.NewHost(config)
		require.NoError(t, err)
		require.NoError(t, n.AddHost(h, Listener{}))
	}
	require.NoError(t, n.Star(Port{"router", "eth0"}, Port{"a", "eth0"}, Port{"b", "eth0"}))
	for to, hosts := range map[string][]string{"10.244.1.3": {"a", "router", "b"}, "10.244.1.9": {"a", "router"}} {
		journeys, err := n.Send("a", inet.Packet{Proto: inet.UDP, Dst: netip.MustParseAddr(to), SrcPort: 1, DstPort: 2})
		require.NoError(t, err)
		require.Len(t, journeys, 1)
		var passed []string
		for _, hop := range journeys[0].Hops {
			passed = append(passed, hop.Host)
		}
		assert.Equal(t, hosts, passed, to)
	}
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
		{"an unknown host", Connect{From: "x", Proto: inet.TCP, To: to}, "there is no host x"},
		{"no address", Connect{From: "a1", Proto: inet.TCP}, "the address to call is missing"},
		{"TCP without port", Connect{From: "a1", Proto: inet.TCP, To: netip.AddrPortFrom(to.Addr(), 0)}, "tcp needs a port"},
		{"ICMP with port", Connect{From: "a1", Proto: inet.ICMP, To: to}, "icmp has no ports"},
		{"ICMPv6 to IPv4", Connect{From: "a1", Proto: inet.ICMPv6, To: netip.AddrPortFrom(to.Addr(), 0)},
			"icmpv6 is of the other address family"},
		{"a source of the other family", Connect{From: "a1", Proto: inet.TCP, To: to, Source: netip.IPv6Loopback()},
			"the source ::1 is of the other address family"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := l.Connect(tc.c)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func TestFlowTCP(t *testing.T) {
	l := newNetLab(t, labRules)
	want := Connect{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")}
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
	assert.Equal(t, flow.Connection.Socket.Addr(), flow.Connection.Client.Addr(), "the server sees the client's own address")
	require.Len(t, l.Host("node1").Conntrack(), 1)
	assert.Equal(t, "ESTABLISHED", l.Host("node1").Conntrack()[0].State)

	for _, dir := range []Direction{FromClient, FromServer} {
		journeys, err := flow.Send(dir, FlowPacket{})
		require.NoError(t, err)
		require.Len(t, journeys, 1, "an established connection leaves nothing to chance")
		assert.True(t, flow.Received(dir, &journeys[0]), journeys[0].String())
	}

	journeys, err := flow.Send(FromServer, FlowPacket{OutOfWindow: true})
	require.NoError(t, err)
	assert.False(t, flow.Received(FromServer, &journeys[0]))
	assert.Equal(t, EndDropped, journeys[0].End, "FORWARD drops what is INVALID")

	_, err = flow.Send(FromClient, FlowPacket{Flags: inet.FIN | inet.ACK})
	require.NoError(t, err)
	assert.Equal(t, "FIN_WAIT", l.Host("node1").Conntrack()[0].State)

	// The node remembers the one flow: it still leads to a2, with any other source port to both.
	again, err := l.Connect(want)
	require.NoError(t, err)
	assert.Len(t, again, 1)
}

func TestFlowUDPKeepsItsServer(t *testing.T) {
	l := newNetLab(t, labRules)
	flow, err := l.Establish(Connect{From: "b1", Proto: inet.UDP, To: netip.MustParseAddrPort("10.96.0.10:53")}, nil)
	require.NoError(t, err)
	for _, dir := range []Direction{FromClient, FromServer, FromClient} {
		journeys, err := flow.Send(dir, FlowPacket{})
		require.NoError(t, err)
		require.Len(t, journeys, 1)
		assert.True(t, flow.Received(dir, &journeys[0]), journeys[0].String())
	}
	_, err = flow.Send(FromClient, FlowPacket{Flags: inet.SYN})
	assert.ErrorContains(t, err, "only TCP segments have flags")
}

// TestFlowReachIsSendWithoutText sends the same packets of the same connections in two networks, in one of them without text.
func TestFlowReachIsSendWithoutText(t *testing.T) {
	told, quiet := newNetLab(t, labRules), newNetLab(t, labRules)
	last := func(n int) int { return n - 1 }
	for _, c := range []Connect{
		{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")},
		{From: "b1", Proto: inet.UDP, To: netip.MustParseAddrPort("10.96.0.10:53")},
		{From: "outside", Proto: inet.TCP, To: netip.MustParseAddrPort("192.168.0.1:30080")},
		{From: "node1", Proto: inet.ICMP, To: netip.MustParseAddrPort("10.244.2.2:0")},
	} {
		want, err := told.Establish(c, func(ways []Connection) int { return last(len(ways)) })
		require.NoError(t, err)
		got, err := quiet.EstablishQuietly(c, func(ways []Reached) int { return last(len(ways)) })
		require.NoError(t, err)
		assert.Equal(t, want.Connection.Server, got.Connection.Server)
		assert.Equal(t, want.Connection.Client, got.Connection.Client)
		for i, dir := range []Direction{FromServer, FromClient, FromServer} {
			var seen []Reached
			later := FlowPacket{OutOfWindow: i == 2 && c.Proto == inet.TCP}
			ways, err := got.Reach(dir, later)
			require.NoError(t, err)
			later.Pick = func(ways []Reached) int { seen = ways; return likeliest(ways) }
			journeys, err := want.Send(dir, later)
			require.NoError(t, err)
			require.Len(t, ways, len(journeys))
			for j := range journeys {
				assert.Equal(t, want.Received(dir, &journeys[j]), ways[j].Made)
				assert.Equal(t, []any{journeys[j].At, journeys[j].End}, []any{ways[j].At, ways[j].End})
			}
			assert.Equal(t, seen, ways)
		}
		for _, name := range told.Hosts() {
			assert.Equal(t, told.Host(name).Conntrack(), quiet.Host(name).Conntrack())
		}
	}
}

// TestFlowPicksTheWayThatIsKept sends datagrams of a flow that no host remembers any more.
func TestFlowPicksTheWayThatIsKept(t *testing.T) {
	for way, endpoint := range []string{"10.244.1.2", "10.244.2.2"} {
		l := newNetLab(t, labRules)
		flow, err := l.Establish(Connect{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")}, nil)
		require.NoError(t, err)
		l.Host("node1").DeleteConntrack(func(conntrack.Entry) bool { return true })
		ways, err := flow.Reach(FromClient, FlowPacket{Flags: inet.SYN, Pick: func([]Reached) int { return way }})
		require.NoError(t, err)
		require.Len(t, ways, 2)
		assert.Equal(t, endpoint, l.Host("node1").Conntrack()[0].Reply.Src.String())
	}
	l := newNetLab(t, labRules)
	flow, err := l.Establish(Connect{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.10:80")}, nil)
	require.NoError(t, err)
	_, err = flow.Reach(FromClient, FlowPacket{Pick: func([]Reached) int { return -1 }})
	assert.ErrorContains(t, err, "none of 1 ways was chosen")
}

func TestEstablishSaysWhyNothingIsMade(t *testing.T) {
	l := newNetLab(t, labRules)
	_, err := l.Establish(Connect{From: "b1", Proto: inet.TCP, To: netip.MustParseAddrPort("10.96.0.99:80")}, nil)
	require.ErrorContains(t, err, "none of 1 ways was chosen, the first one is: refused by 10.244.1.1 with icmp 3/3")
	l.requireUntouched()
}
