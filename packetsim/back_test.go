package packetsim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/netfilter"
)

// backHost is a node with a pod on a link, two on a bridge, and another node's pods behind its uplink.
func backHost(t *testing.T, sysctls map[string]string) *Host {
	via := netip.MustParseAddr("192.168.0.1")
	prefix := netip.MustParsePrefix
	port := func(name, addr string) Device {
		return Device{Name: name, Up: true, Master: "cbr0", Neighbours: []netip.Addr{netip.MustParseAddr(addr)}}
	}
	all := map[string]string{"net.ipv4.ip_forward": "1"}
	for name, value := range sysctls {
		all[name] = value
	}
	h, err := NewHost(HostConfig{
		Name: "node",
		Devices: []Device{
			{Name: "eth0", Up: true, Addresses: addresses("192.168.0.3/24")}, {Name: "cali1", Up: true},
			{Name: "cbr0", Kind: "bridge", Up: true, Addresses: addresses("10.244.0.1/24")}, port("veth1", "10.244.0.11"),
			port("veth2", "10.244.0.12"),
		},
		Routes: []Route{
			{Dst: prefix("0.0.0.0/0"), Via: via, Dev: "eth0"}, {Dst: prefix("10.250.0.7/32"), Dev: "cali1"},
			{Dst: prefix("10.244.1.0/24"), Via: netip.MustParseAddr("192.168.0.4"), Dev: "eth0"},
		},
		Sysctls: all,
		Netfilter: restored(t, netfilter.IPv4, "*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n"+
			"-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.244.0.12\n"+
			"-A PREROUTING -d 10.96.0.2/32 -j DNAT --to-destination 10.244.1.5\n"+
			"-A PREROUTING -d 10.96.0.3/32 -j DNAT --to-destination 10.250.0.7\n-A PREROUTING -d 10.96.0.4/32 -j REDIRECT\n"+
			"-A POSTROUTING -s 10.99.0.0/16 -j MASQUERADE\nCOMMIT\n"+
			"*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -s 10.250.0.7/32 -p tcp -m tcp --sport 81 -j DROP\nCOMMIT\n").Namespace(),
	})
	require.NoError(t, err)
	return h
}

func TestTheReplyPassesTheHostToo(t *testing.T) {
	calls := map[string]string{"net.bridge.bridge-nf-call-iptables": "1"}
	for _, tc := range []struct {
		name    string
		sysctls map[string]string
		packet  string
		heard   bool
		back    string // the reply as it comes
		why     string
	}{
		{"from a pod of a link, for its neighbour on the bridge", nil, "tcp 10.244.0.11:1 > 10.96.0.3:80 in veth1", true,
			"tcp 10.250.0.7:80 > 10.244.0.11:1 in cali1 flags SYN,ACK", ""},
		{"on the bridge, and rules see it", calls, "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1", true,
			"tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags SYN,ACK nexthop 10.244.0.11", ""},
		{"on the bridge, and rules do not see it", nil, "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1", false,
			"tcp 10.244.0.12:80 > 10.244.0.11:1 in veth2 flags SYN,ACK nexthop 10.244.0.11",
			"the answer comes from 10.244.0.12:80, and 10.96.0.1:80 was called"},
		{"on the bridge without a service", nil, "udp 10.244.0.11:1 > 10.244.0.12:80 in veth1", true,
			"udp 10.244.0.12:80 > 10.244.0.11:1 in veth2 nexthop 10.244.0.11", ""},
		{"from another node's pod", nil, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1", true,
			"tcp 10.244.1.5:80 > 10.244.0.11:1 in eth0 flags SYN,ACK", ""},
		{"from another node's pod to a client outside", nil, "tcp 198.51.100.7:1 > 10.96.0.2:80 in eth0", false, "",
			"10.244.1.5 answers 198.51.100.7 by its own routes, which as far as is known do not pass node"},
		{"the same, masqueraded", nil, "tcp 10.99.0.7:1 > 10.96.0.2:80 in eth0", true,
			"tcp 10.244.1.5:80 > 192.168.0.3:1 in eth0 flags SYN,ACK", ""},
		{"of the host itself", nil, "tcp 10.244.0.11:1 > 10.96.0.4:80 in veth1", true, "tcp 10.244.0.1:80 > 10.244.0.11:1 local flags SYN,ACK",
			""},
		{"to the host itself", nil, "tcp 10.244.0.1:1 > 10.250.0.7:80 local", true, "tcp 10.250.0.7:80 > 10.244.0.1:1 in cali1 flags SYN,ACK",
			""},
		{"dropped by a rule", nil, "tcp 10.244.0.11:1 > 10.250.0.7:81 in veth1", false,
			"tcp 10.250.0.7:81 > 10.244.0.11:1 in cali1 flags SYN,ACK",
			"the answer of 10.250.0.7: drop"},
		{"a ping", nil, "icmp 10.244.0.11 > 10.250.0.7 in veth1", true, "icmp 10.250.0.7 > 10.244.0.11 in cali1 type 0/0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := backHost(t, tc.sysctls)
			plain, err := h.Walk(parse(t, tc.packet))
			require.NoError(t, err)
			outcomes, err := h.WalkWith(parse(t, tc.packet), WalkOptions{Back: true})
			require.NoError(t, err)
			require.Len(t, outcomes, 1)
			back := outcomes[0].Back
			require.NotNil(t, back)
			assert.Equal(t, tc.why, back.Why)
			assert.Equal(t, tc.heard, back.Heard)
			assert.Equal(t, tc.back, back.Packet)
			assert.Equal(t, tc.back != "", back.Outcome != nil)
			assert.Equal(t, tc.back == "", back.Elsewhere)
			outcomes[0].Back = nil
			assert.Equal(t, plain, outcomes, "the packet's own outcome is what it is without its reply")
			assert.Empty(t, h.Conntrack())
		})
	}
}

// TestNobodyRepliesTo: what begins no connection, or ends here, has no reply.
func TestNobodyRepliesTo(t *testing.T) {
	for _, packet := range []string{"tcp 10.244.0.11:1 > 10.250.0.7:80 in veth1 flags ACK", "icmp 10.244.0.11 > 10.250.0.7 in veth1 type 0/0",
		"tcp 10.250.0.7:81 > 10.244.0.11:80 in cali1", "udp 10.250.0.7:81 > 224.0.0.1:80 in cali1"} {
		outcomes, err := backHost(t, nil).WalkWith(parse(t, packet), WalkOptions{Back: true})
		require.NoError(t, err)
		for i := range outcomes {
			assert.Nil(t, outcomes[i].Back, packet)
		}
	}
}

// TestNobodyAtNoAddressHearsAReply: a packet from :: whose source NAT has changed is answered to the address that it got.
func TestNobodyAtNoAddressHearsAReply(t *testing.T) {
	own := netip.MustParseAddr("fd00::3")
	h, err := NewHost(HostConfig{
		Name: "node", Devices: []Device{{Name: "eth0", Up: true, Addresses: []Address{{Prefix: netip.PrefixFrom(own, 64)}}}},
		Netfilter: restored(t, netfilter.IPv6, "*raw\n:OUTPUT ACCEPT [0:0]\n-A OUTPUT -j CT --notrack\nCOMMIT\n"+
			"*nat\n:INPUT ACCEPT [0:0]\n-A INPUT -s ::/128 -j SNAT --to-source fd00::9\nCOMMIT\n").Namespace(),
	})
	require.NoError(t, err)
	outcomes, err := h.WalkWith(parse(t, "tcp [::]:1000 > [fd00::3]:80 in eth0"), WalkOptions{Back: true})
	require.NoError(t, err)
	require.Len(t, outcomes, 1)
	assert.Equal(t, "the answer goes to [fd00::9]:1000, and [::]:1000 called", outcomes[0].Back.Why)
	assert.False(t, outcomes[0].Back.Heard)
}
