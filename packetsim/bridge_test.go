package packetsim

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

const bridgedRules = "*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n-A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination " +
	"10.244.0.12\n" +
	"-A PREROUTING -d 10.96.0.2/32 -j DNAT --to-destination 10.244.0.11\n" +
	"-A PREROUTING -d 10.96.0.3/32 -j DNAT --to-destination 10.244.0.99\n" +
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
		Netfilter: restored(t, netfilter.IPv4, bridgedRules).Namespace(),
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
		{"to another pod", "1", false, "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.12:80",
			"veth2"},
		{"rules see the bridge", "1", false, "tcp 10.244.0.11:1 > 10.244.0.13:80 in veth1", "drop", ""},
		{"rules do not see the bridge", "0", false, "tcp 10.244.0.11:1 > 10.244.0.13:80 in veth1",
			"accept forward cbr0 10.244.0.11:1>10.244.0.13:80", "veth3"},
		{"to a service", "1", false, "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.12:80", "veth2"},
		{"to a service, routed", "0", false, "tcp 10.244.0.11:1 > 10.96.0.1:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.12:80",
			"veth2"},
		{"to itself by a service", "1", false, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1", "drop port veth1 is not in hairpin mode", ""},
		{"to itself by a service, hairpin mode", "1", true, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1",
			"accept forward cbr0 10.244.0.1:1>10.244.0.11:80", "veth1"},
		{"to itself by a service, routed", "0", false, "tcp 10.244.0.11:1 > 10.96.0.2:80 in veth1",
			"accept forward cbr0 10.244.0.1:1>10.244.0.11:80", "veth1"},
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
}

// TestNeighboursThatNoPortLeadsTo: what the node sends to one goes out by the bridge, and nobody gets it; a pod that asks for one gets no
// answer. The sender of a frame itself is behind the port that it came by.
func TestNeighboursThatNoPortLeadsTo(t *testing.T) {
	for _, row := range []struct{ name, calls, packet, want, port string }{
		{"translated to one", "1", "tcp 10.244.0.11:1 > 10.96.0.3:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.99:80", ""},
		{"translated to one, routed", "0", "tcp 10.244.0.11:1 > 10.96.0.3:80 in veth1", "accept forward cbr0 10.244.0.11:1>10.244.0.99:80", ""},
		{"translated to the sender, whom no table has", "1", "tcp 10.244.0.99:1 > 10.96.0.3:80 in veth1",
			"drop port veth1 is not in hairpin mode", ""},
		{"asked for", "1", "tcp 10.244.0.11:1 > 10.244.0.99:80 in veth1 nexthop 10.244.0.99",
			"drop no port of cbr0 is known to lead to 10.244.0.99", ""},
		{"asked for, with rules that do not see frames", "0", "tcp 10.244.0.11:1 > 10.244.0.99:80 in veth1 nexthop 10.244.0.99",
			"drop no port of cbr0 is known to lead to 10.244.0.99", ""},
		{"the node is asked", "1", "tcp 10.244.0.11:1 > 192.168.0.9:80 in veth1 nexthop 10.244.0.1",
			"accept forward eth0 10.244.0.11:1>192.168.0.9:80", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := walkOne(t, bridgeHost(t, row.calls, false), row.packet)
			assert.Equal(t, row.want, brief(o))
			assert.Equal(t, row.port, o.Port)
		})
	}
}
