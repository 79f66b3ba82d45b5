package packetsim

import (
	"net/netip"
	"testing"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const bridgedRules = "*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.12\n" +
	"-A PREROUTING -d 10.96.0.2/32 -j DNAT --to-destination 10.244.0.11\n-A PREROUTING -d 10.96.0.3/32 -j DNAT --to-destination 10.244.0.99\n" +
	"-A POSTROUTING -s 10.244.0.11/32 -d 10.244.0.11/32 -j MASQUERADE\nCOMMIT\n" +
	"*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -d 10.244.0.13/32 -m physdev --physdev-is-bridged -j DROP\nCOMMIT\n"

// bridgeHost is a node whose pods sit on a bridge.
func bridgeHost(t *testing.T, calls string, hairpin bool) *Host {
	port := func(name, addr string) Device {
		return Device{Name: name, Up: true, Master: "cbr0", Hairpin: hairpin, Neighbours: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	h, err := NewHost(HostConfig{
		Name: "node",
		Devices: []Device{
			{Name: "cbr0", Kind: "bridge", Up: true, Addresses: addresses("10.244.0.1/24")},
			{Name: "eth0", Up: true, Addresses: addresses("192.168.0.3/24")},
			port("veth1", "10.244.0.11"), port("veth2", "10.244.0.12"), port("veth3", "10.244.0.13"),
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1", "net.bridge.bridge-nf-call-iptables": calls},
		Netfilter: restored(t, fakeipt.IPv4, bridgedRules),
	})
	require.NoError(t, err)
	return h
}

func TestBridgedPackets(t *testing.T) {
	rows := []struct {
		name, calls string
		hairpin     bool
		packet      string
		want, port  string
	}{
		{"to another pod", "1", false, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.12:80", "veth2"},
		{"rules see the bridge", "1", false, "tcp 10.244.0.11:1 > 10.244.0.13:80 in veth1", "drop", ""},
		{"rules do not see the bridge", "0", false, "tcp 10.244.0.11:1 > 10.244.0.13:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.13:80", "veth3"},
		{"to a service", "1", false, "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.12:80", "veth2"},
		{"to a service, routed", "0", false, "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.12:80", "veth2"},
		{"to itself by a service", "1", false, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1", "drop port veth1 is not in hairpin mode", ""},
		{"to itself by a service, hairpin mode", "1", true, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1", "accept forward cbr0 10.244.0.1:1>10.244.0.11:80", "veth1"},
		{"to itself by a service, routed", "0", false, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1", "accept forward cbr0 10.244.0.1:1>10.244.0.11:80", "veth1"},
		{"to the node", "1", false, "tcp 10.244.0.11:1 > 10.244.0.1:80 in veth1", "accept local 10.244.0.11:1>10.244.0.1:80", ""},
		{"to the outside", "1", false, "tcp 10.244.0.11:1 > 192.168.0.9:80 in veth1", "accept forward eth0 10.244.0.11:1>192.168.0.9:80", ""},
		{"of the node", "1", false, "tcp 10.244.0.1:1 > 10.244.0.12:80 local", "accept forward cbr0 10.244.0.1:1>10.244.0.12:80", "veth2"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			o := walkOne(t, bridgeHost(t, row.calls, row.hairpin), row.packet)
			assert.Equal(t, row.want, brief(o))
			assert.Equal(t, row.port, o.Port)
		})
	}
	_, err := bridgeHost(t, "1", false).Walk(parse(t, "tcp 10.244.0.11:1 > 10.96.0.3:80 in veth1"))
	require.ErrorContains(t, err, "no port is known for 10.244.0.99")
}

// tunnelHost is one of two nodes that VXLAN joins; a masquerades what is marked, and forgets the mark if it should.
func tunnelHost(t *testing.T, self, other, pods, othersPods string, unmark bool) *Host {
	rules := "*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --dport 80 -j MARK --set-xmark 0x4000/0x4000\nCOMMIT\n" +
		"*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n"
	if unmark {
		rules += "-A POSTROUTING -j MARK --set-xmark 0x4000/0x0\n"
	}
	rules += "-A POSTROUTING -j MASQUERADE\nCOMMIT\n"
	tunnel := netip.MustParsePrefix(othersPods).Addr()
	h, err := NewHost(HostConfig{
		Name: "node-" + self,
		Devices: []Device{
			{Name: "eth0", Up: true, Addresses: addresses(self + "/24")},
			{Name: "pod0", Up: true, Addresses: []Address{{Prefix: netip.PrefixFrom(netip.MustParsePrefix(pods).Addr().Next(), 24)}}},
			{Name: "flannel.1", Up: true, Addresses: []Address{{Prefix: netip.PrefixFrom(netip.MustParsePrefix(pods).Addr(), 32)}},
				VXLAN: &VXLAN{ID: 1, Local: netip.MustParseAddr(self), Remotes: map[netip.Addr]netip.Addr{tunnel: netip.MustParseAddr(other)}}},
		},
		Routes:    []Route{{Dst: netip.MustParsePrefix(othersPods), Via: tunnel, Dev: "flannel.1"}},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: restored(t, fakeipt.IPv4, rules),
	})
	require.NoError(t, err)
	return h
}

// TestTunnelledPacketIsNotMasqueradedTwice: the mark stays on the packet that carries another, so that rules which do not take it away
// translate that one as well (kubernetes issues 78948, 88986).
func TestTunnelledPacketIsNotMasqueradedTwice(t *testing.T) {
	for _, unmark := range []bool{true, false} {
		h := tunnelHost(t, "192.168.0.3", "192.168.0.4", "10.244.0.0/24", "10.244.1.0/24", unmark)
		o := walkOne(t, h, "tcp 10.244.0.11:1 > 10.244.1.11:80 in pod0")
		assert.Equal(t, Accept, o.Verdict)
		assert.Equal(t, "192.168.0.4", o.Final.Dst.String())
		assert.Equal(t, "eth0", o.Out)
		require.NotNil(t, o.Packet.Carried)
		assert.Equal(t, "10.244.0.0:1>10.244.1.11:80", header(*o.Packet.Carried), "the inner packet is masqueraded")
		assert.Equal(t, !unmark, o.Masqueraded || o.Final.Mark != 0, "the outer packet keeps the mark")
	}
}

func TestTunnelBetweenNodes(t *testing.T) {
	n := NewNetwork()
	require.NoError(t, n.AddHost(tunnelHost(t, "192.168.0.3", "192.168.0.4", "10.244.0.0/24", "10.244.1.0/24", true)))
	require.NoError(t, n.AddHost(tunnelHost(t, "192.168.0.4", "192.168.0.3", "10.244.1.0/24", "10.244.0.0/24", true)))
	for name, addr := range map[string]string{"client": "10.244.0.11", "server": "10.244.1.11"} {
		gateway := netip.MustParseAddr(addr).As4()
		gateway[3] = 1
		pod, err := NewHost(HostConfig{Name: name, Devices: []Device{{Name: "eth0", Up: true, Addresses: addresses(addr + "/24")}},
			Routes: []Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.AddrFrom4(gateway), Dev: "eth0"}}})
		require.NoError(t, err)
		require.NoError(t, n.AddHost(pod, Listener{}))
	}
	require.NoError(t, n.Segment("outside", Port{"node-192.168.0.3", "eth0"}, Port{"node-192.168.0.4", "eth0"}))
	require.NoError(t, n.Link(Port{"client", "eth0"}, Port{"node-192.168.0.3", "pod0"}))
	require.NoError(t, n.Link(Port{"server", "eth0"}, Port{"node-192.168.0.4", "pod0"}))
	for _, packet := range []string{"tcp 10.244.0.11:1000 > 10.244.1.11:80 local", "tcp 10.244.0.11:1000 > 10.244.1.11:81 local"} {
		journeys, err := n.Send("client", parse(t, packet).Packet)
		require.NoError(t, err)
		require.Len(t, journeys, 1)
		assert.Equal(t, "client -> node-192.168.0.3 -> node-192.168.0.4 -> server: delivered", journeys[0].String())
	}
}

func TestSeveralNextHops(t *testing.T) {
	h, _ := testNode{routes: []Route{{Dst: netip.MustParsePrefix("10.5.0.0/16"), NextHops: []NextHop{
		{Via: netip.MustParseAddr("192.168.0.10"), Dev: "eth0", Weight: 3}, {Via: netip.MustParseAddr("10.9.0.9"), Dev: "down0", Weight: 9},
		{Via: netip.MustParseAddr("192.168.0.20"), Dev: "eth0"},
	}}}}.build(t)
	outcomes, err := h.Walk(parse(t, "udp 10.244.0.11:1 > 10.5.0.1:1 in veth1"))
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	assert.InDelta(t, 0.75, outcomes[0].Probability, 1e-9)
	assert.Equal(t, "192.168.0.10", outcomes[0].NextHop.String())
	assert.Equal(t, "192.168.0.20", outcomes[1].NextHop.String())
	taken := step(t, h, "udp 10.244.0.11:1 > 10.5.0.1:1 in veth1")
	assert.Equal(t, taken.NextHop, walkOne(t, h, "udp 10.244.0.11:2 > 10.5.0.1:9 in veth1").NextHop, "a flow keeps its way")
	for _, bad := range []NextHop{{Dev: "eth7"}, {Dev: "eth0", Weight: 300}} {
		_, err := NewHost(HostConfig{Devices: testDevices(), Routes: []Route{{Dst: netip.MustParsePrefix("10.5.0.0/16"), NextHops: []NextHop{bad}}}})
		assert.Error(t, err)
	}
}
