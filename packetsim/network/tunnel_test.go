package network

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
)

// tunnelHost is one of two nodes that packetsim.VXLAN joins; a masquerades what is marked, and forgets the mark if it should.
func tunnelHost(t *testing.T, self, other, pods, othersPods string, unmark bool) *packetsim.Host {
	rules := "*mangle\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --dport 80 -j MARK --set-xmark 0x4000/0x4000\nCOMMIT\n" +
		"*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n"
	if unmark {
		rules += "-A POSTROUTING -j MARK --set-xmark 0x4000/0x0\n"
	}
	rules += "-A POSTROUTING -j MASQUERADE\nCOMMIT\n"
	tunnel := netip.MustParsePrefix(othersPods).Addr()
	h, err := packetsim.NewHost(packetsim.HostConfig{
		Name: "node-" + self,
		Devices: []packetsim.Device{
			{Name: "eth0", Up: true, Addresses: addresses(self + "/24")},
			{Name: "pod0", Up: true, Addresses: []packetsim.Address{{Prefix: netip.PrefixFrom(netip.MustParsePrefix(pods).Addr().Next(), 24)}}},
			{Name: "flannel.1", Up: true, Addresses: []packetsim.Address{{Prefix: netip.PrefixFrom(netip.MustParsePrefix(pods).Addr(), 32)}},
				VXLAN: &packetsim.VXLAN{ID: 1, Local: netip.MustParseAddr(self),
					Remotes: map[netip.Addr]netip.Addr{tunnel: netip.MustParseAddr(other)}}},
		},
		Routes:    []packetsim.Route{{Dst: netip.MustParsePrefix(othersPods), Via: tunnel, Dev: "flannel.1"}},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: restored(t, netfilter.IPv4, rules).Namespace(),
	})
	require.NoError(t, err)
	return h
}

// TestTunnelledPacketIsNotMasqueradedTwice: the mark stays on the packet that carries another, so that rules which do not take it away
// translate that one as well (kubernetes issues 78948, 88986).
func TestTunnelledPacketIsNotMasqueradedTwice(t *testing.T) {
	for _, unmark := range []bool{true, false} {
		h := tunnelHost(t, "192.168.0.3", "192.168.0.4", "10.244.0.0/24", "10.244.1.0/24", unmark)
		outcomes, err := h.Walk(parse(t, "tcp 10.244.0.11:1 > 10.244.1.11:80 in pod0"))
		require.NoError(t, err)
		require.Len(t, outcomes, 1)
		o := outcomes[0]
		assert.Equal(t, packetsim.Accept, o.Verdict)
		assert.Equal(t, "192.168.0.4", o.Final.Dst.String())
		assert.Equal(t, "eth0", o.Out)
		require.NotNil(t, o.Packet.Carried)
		assert.Equal(t, "tcp 10.244.0.0:1 > 10.244.1.11:80", o.Packet.Carried.Header(), "the inner packet is masqueraded")
		assert.Equal(t, !unmark, o.Masqueraded || o.Final.Mark != 0, "the outer packet keeps the mark")
	}
}

func TestTunnelBetweenNodes(t *testing.T) {
	n := New()
	require.NoError(t, n.AddHost(tunnelHost(t, "192.168.0.3", "192.168.0.4", "10.244.0.0/24", "10.244.1.0/24", true)))
	require.NoError(t, n.AddHost(tunnelHost(t, "192.168.0.4", "192.168.0.3", "10.244.1.0/24", "10.244.0.0/24", true)))
	for name, addr := range map[string]string{"client": "10.244.0.11", "server": "10.244.1.11"} {
		gateway := netip.MustParseAddr(addr).As4()
		gateway[3] = 1
		pod, err := packetsim.NewHost(packetsim.HostConfig{Name: name, Devices: []packetsim.Device{{Name: "eth0", Up: true,
			Addresses: addresses(addr + "/24")}},
			Routes: []packetsim.Route{{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.AddrFrom4(gateway), Dev: "eth0"}}})
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
