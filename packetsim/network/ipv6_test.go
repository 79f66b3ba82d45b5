package network

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

const labRules6 = `*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A FORWARD -d fd00:96::99/128 -p tcp -m tcp --dport 80 -j REJECT --reject-with icmp6-port-unreachable
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
-A PREROUTING -d fd00:96::10/128 -p tcp -m tcp --dport 80 -j DNAT --to-destination [fd00:2::2]:8080
-A PREROUTING -d fd00:96::10/128 -p udp -m udp --dport 53 -j DNAT --to-destination [fd00:2::2]:5353
-A POSTROUTING -d fd00:2::2/128 -p tcp -j MASQUERADE
COMMIT
`

// newNetLab6 is a client on a LAN with a node that has a pod:
//
//	client fd00:1::2 - fd00:1::1 node fd00:2::1 - fd00:2::2 pod, which listens on TCP only
func newNetLab6(t *testing.T) *netLab {
	l := &netLab{t, New()}
	machine := func(name, address, gateway string, listeners ...Listener) {
		l.add(packetsim.HostConfig{
			Name:    name,
			Devices: []packetsim.Device{{Name: "eth0", Up: true, Addresses: addresses(address)}},
			Routes:  []packetsim.Route{{Dst: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr(gateway), Dev: "eth0"}},
		}, listeners...)
	}
	machine("client", "fd00:1::2/64", "fd00:1::1")
	machine("pod", "fd00:2::2/64", "fd00:2::1", Listener{Proto: inet.TCP})
	l.add(packetsim.HostConfig{
		Name: "node",
		Devices: []packetsim.Device{{Name: "eth0", Up: true, Addresses: addresses("fd00:1::1/64")},
			{Name: "veth", Up: true, Addresses: addresses("fd00:2::1/64")}},
		Routes:    []packetsim.Route{{Dst: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("fd00:1::9"), Dev: "eth0"}},
		Sysctls:   map[string]string{"net.ipv6.conf.all.forwarding": "1"},
		Netfilter: restored(t, netfilter.IPv6, labRules6).Namespace(),
	})
	require.NoError(t, l.Segment("lan", Port{"client", "eth0"}, Port{"node", "eth0"}))
	require.NoError(t, l.Link(Port{"node", "veth"}, Port{"pod", "eth0"}))
	return l
}

func TestNetworkConnectIPv6(t *testing.T) {
	for _, tc := range []struct {
		name  string
		proto inet.Proto
		to    string
		want  string
	}{
		{"a cluster IP, masqueraded", inet.TCP, "[fd00:96::10]:80", "1: pod at [fd00:2::2]:8080 sees fd00:2::1"},
		{"the pod itself", inet.ICMPv6, "fd00:2::2", "1: pod at [fd00:2::2]:0 sees fd00:1::2"},
		{"a UDP port that nobody listens on", inet.UDP, "[fd00:96::10]:53", "1: refused by fd00:96::10 with icmpv6 1/4"},
		{"a REJECT", inet.TCP, "[fd00:96::99]:80", "1: refused by fd00:1::1 with icmpv6 1/4"},
		{"a protocol that the pod does not speak", 50, "fd00:2::2", "1: refused by fd00:2::2 with icmpv6 4/1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newNetLab6(t)
			assert.Equal(t, []string{tc.want}, l.connect("client", tc.proto, tc.to))
		})
	}
}

// TestNetworkWhoAnswersForAnAddress: a Linux host answers ARP for any of its addresses on every
// device, neighbour solicitations for the device's own only.
func TestNetworkWhoAnswersForAnAddress(t *testing.T) {
	n := New()
	l := &netLab{t, n}
	dummy := packetsim.Device{Name: "dummy0", Up: true, Addresses: addresses("10.1.0.9/32", "fd00:9::9/128")}
	for _, name := range []string{"asker", "owner", "twin"} {
		config := packetsim.HostConfig{Name: name, Devices: []packetsim.Device{{Name: "eth0", Up: true,
			Addresses: addresses("10.1.0." + map[string]string{"asker": "1", "owner": "2", "twin": "3"}[name] + "/24")}}}
		if name == "owner" {
			config.Devices = append(config.Devices, dummy)
		}
		l.add(config)
	}
	require.NoError(t, n.Segment("lan", Port{"owner", "eth0"}, Port{"twin", "eth0"}, Port{"asker", "eth0"}))
	asker := n.Host("asker")
	for _, tc := range []struct {
		name    string
		address string
		want    string
	}{
		{"an address of the device", "10.1.0.2", "owner/eth0"},
		{"an IPv4 address of another device", "10.1.0.9", "owner/eth0"},
		{"an IPv6 address of another device", "fd00:9::9", ""},
		{"nobody's address", "10.1.0.77", ""},
		{"the sender's own address", "10.1.0.1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address := netip.MustParseAddr(tc.address)
			to := asker.deliver("eth0", address)
			if tc.want == "" {
				assert.Nil(t, to)
				assert.Equal(t, "no host on lan has the address "+tc.address, asker.lost("eth0", address).String())
				return
			}
			require.NotNil(t, to)
			assert.Equal(t, tc.want, to.String())
		})
	}
	assert.Nil(t, asker.deliver("lo", netip.MustParseAddr("10.1.0.2")))
	assert.Equal(t, "no host is known behind asker/lo, by which it goes to 10.1.0.2",
		asker.lost("lo", netip.MustParseAddr("10.1.0.2")).String())
}

// TestNetworkEndsLongJourneys sends the packet that goes round longest.
func TestNetworkEndsLongJourneys(t *testing.T) {
	l := newNetLab(t, labRules)
	journeys, err := l.Send("b1", inet.Packet{Proto: inet.UDP, Dst: netip.MustParseAddr("10.99.0.1"), SrcPort: 1, DstPort: 2,
		TTL: 255})
	require.NoError(t, err)
	require.Len(t, journeys, 1)
	assert.Equal(t, EndRejected, journeys[0].End)
	assert.Equal(t, "ttl exceeded", journeys[0].Why)
	assert.Len(t, journeys[0].Hops, 256, "the sender, and one host for each hop")
}
