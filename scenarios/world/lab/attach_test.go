package lab

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
)

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func TestPodsArePluggedInWhereRoutesLead(t *testing.T) {
	taken := &snapshot.NodeSnapshot{
		Hostname: "node1",
		Devices: []snapshot.Device{
			{Name: "eth0", Index: 2, Up: true, Addresses: []snapshot.Address{{Prefix: prefix("192.168.0.2/24")}}},
			{Name: "cali1", Index: 3, Up: true},
			{Name: "cni0", Index: 4, Kind: "bridge", Up: true, Addresses: []snapshot.Address{{Prefix: prefix("10.244.1.1/24")}}},
			{Name: "veth1", Index: 5, Master: "cni0", Up: true, Neighbours: addresses("10.244.1.5")},
			{Name: "veth2", Index: 6, Master: "cni0", Up: true},
		},
		Routes: []snapshot.Route{
			{Dst: prefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.1"), Dev: "eth0", Table: packetsim.TableMain},
			{Dst: prefix("10.244.1.0/24"), Dev: "cni0", Table: packetsim.TableMain},
			{Dst: prefix("10.244.1.1/32"), Dev: "cni0", Type: packetsim.RouteLocal, Table: packetsim.TableLocal},
			{Dst: prefix("10.250.0.7/32"), Dev: "cali1", Table: packetsim.TableMain},
		},
	}
	a := Attach(taken, []scenarios.Pod{
		{Name: "routed", Node: "node1", Addresses: addresses("10.250.0.7", "fd00::7")},
		{Name: "known", Node: "node1", Addresses: addresses("10.244.1.5")},
		{Name: "unknown", Node: "node1", Addresses: addresses("10.244.1.6")},
		{Name: "one too many", Node: "node1", Addresses: addresses("10.244.1.7")},
		{Name: "10.9.0.1", Node: "node1", Addresses: addresses("10.9.0.1")},
		{Name: "elsewhere", Node: "node2", Addresses: addresses("10.244.2.7")},
	}, func(*snapshot.Connection) bool { return true })
	assert.Equal(t, map[string]string{
		"routed": "cali1", "known": "veth1", "unknown": "veth2", "one too many": "pod7", "10.9.0.1": "pod8",
	}, a.Pods)
	require.Len(t, a.Notes, 1)
	assert.Contains(t, a.Notes[0], "node1 has no route to endpoints without a pod (10.9.0.1): judged as if it had")
	assert.Equal(t, "cali1", a.ways.DeviceTo(netip.MustParseAddr("fd00::7")), "the pod's other address")
	assert.Equal(t, "pod8", a.ways.DeviceTo(netip.MustParseAddr("10.9.0.1")))
	assert.Equal(t, addresses("10.244.1.6"), a.Devices[4].Neighbours)
	assert.Empty(t, taken.Devices[4].Neighbours, "the snapshot itself is left alone")
	_, err := snapshot.NewHost(&snapshot.NodeSnapshot{Version: snapshot.Version, Hostname: "node1", Devices: a.Devices, Routes: a.Routes},
		snapshot.HostOptions{})
	assert.NoError(t, err)
}

// bridgedNode is a node with a bridge of three ports, of which the tables know one pod by its IPv4 address.
func bridgedNode(hairpins ...bool) *snapshot.NodeSnapshot {
	taken := &snapshot.NodeSnapshot{
		Version: snapshot.Version, Hostname: "node1",
		Devices: []snapshot.Device{{Name: "cni0", Index: 1, Kind: "bridge", Up: true,
			Addresses: []snapshot.Address{{Prefix: prefix("10.244.1.1/24")}, {Prefix: prefix("fd00:1::1/64")}}}},
		Routes: []snapshot.Route{{Dst: prefix("10.244.1.0/24"), Dev: "cni0", Table: packetsim.TableMain},
			{Dst: prefix("fd00:1::/64"), Dev: "cni0", Table: packetsim.TableMain}},
	}
	for i, hairpin := range hairpins {
		taken.Devices = append(taken.Devices,
			snapshot.Device{Name: fmt.Sprintf("veth%d", i+1), Index: i + 2, Master: "cni0", Up: true, Hairpin: hairpin})
	}
	return taken
}

// TestPodsArePutBehindPorts: a pod is behind the port that the tables say, else behind one that is free; what had to be assumed is said
// where it matters.
func TestPodsArePutBehindPorts(t *testing.T) {
	known := scenarios.Pod{Name: "known", Node: "node1", Addresses: addresses("10.244.1.5", "fd00:1::5")}
	unknown := scenarios.Pod{Name: "unknown", Node: "node1", Addresses: addresses("10.244.1.6", "fd00:1::6")}
	for _, tc := range []struct {
		name     string
		hairpins []bool
		port     string
		assumed  string
	}{
		{"one port is free", []bool{false, true}, "veth2", ""},
		{"those that are free are alike", []bool{false, true, true}, "veth2", ""},
		{"those that are free differ", []bool{false, true, false}, "veth2",
			"which port of cni0 on node1 leads to unknown is not known: taken to be one with hairpin mode on"},
		{"none is free", []bool{false}, "",
			"no port of cni0 on node1 is known to lead to unknown: what it sends is taken to begin at the bridge, and " +
				"hairpin mode is not looked at"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			taken := bridgedNode(tc.hairpins...)
			taken.Devices[1].Neighbours = addresses("10.244.1.5")
			a := Place(taken, []scenarios.Pod{unknown, known})
			assert.Equal(t, map[string]string{"known": "veth1", "unknown": tc.port}, a.Pods)
			assert.Equal(t, tc.assumed, a.Assumed[unknown.Addresses[0]])
			assert.Empty(t, a.Assumed[known.Addresses[0]])
			assert.Equal(t, known.Addresses, a.Devices[1].Neighbours, "the pod's other address too")
			assert.Equal(t, addresses("10.244.1.5"), taken.Devices[1].Neighbours, "the snapshot itself is left alone")
			assert.Equal(t, "cni0", a.Inlet("known"), "rules see the bridge")
			assert.Equal(t, taken.Routes, a.Routes)
			assert.Len(t, a.Devices, len(taken.Devices))
		})
	}
}

// TestPodsThatMayBeBehindPortsThatAreDown: a bridge forgets who is behind a port that goes down. A pod that no table names is behind such a
// port for sure only where no other port may be its own.
func TestPodsThatMayBeBehindPortsThatAreDown(t *testing.T) {
	one := scenarios.Pod{Name: "one", Node: "node1", Addresses: addresses("10.244.1.5")}
	two := scenarios.Pod{Name: "two", Node: "node1", Addresses: addresses("10.244.1.6")}
	for _, tc := range []struct {
		name  string
		down  []int // ports of three; the tables know who is behind veth1
		ports map[string]string
		doubt string // about "two"
	}{
		{"none is down", nil, map[string]string{"one": "veth2", "two": "veth3"}, ""},
		{"all that are free are down", []int{2, 3}, map[string]string{"one": "veth2", "two": "veth3"}, ""},
		{"the first of two", []int{2}, map[string]string{"one": "veth3", "two": "veth3"},
			"port veth2 of cni0, which is down, leads to two"},
		{"the second of two", []int{3}, map[string]string{"one": "veth2", "two": "veth2"},
			"port veth3 of cni0, which is down, leads to two"},
		{"one that another pod has", []int{1}, map[string]string{"one": "veth2", "two": "veth3"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			taken := bridgedNode(true, true, true)
			taken.Devices[1].Neighbours = addresses("10.244.1.9")
			for _, i := range []int{1, 2, 3} { // each port has its own link-local address behind it, which is no pod's
				taken.Devices[i].Neighbours = append(taken.Devices[i].Neighbours, addresses(fmt.Sprintf("fe80::%d", i))...)
			}
			for _, i := range tc.down {
				taken.Devices[i].Up = false
			}
			a := Place(taken, []scenarios.Pod{one, two})
			assert.Equal(t, tc.ports, a.Pods)
			assert.Equal(t, tc.doubt, a.MayBeDown[two.Addresses[0]].Unless)
		})
	}
}

func TestTheUnderlayIsThatOfTheSnapshots(t *testing.T) {
	c := &scenarios.Cluster{
		Nodes: []scenarios.Node{{Name: "node1", Addresses: addresses("172.18.0.2")}, {Name: "node2", Addresses: addresses("172.18.7.2")},
			{Name: "node3", Addresses: addresses("10.1.1.1")}},
		Underlay: []netip.Prefix{prefix("172.18.0.0/24"), prefix("172.18.7.0/24"), prefix("10.1.1.0/24")},
		Router:   addresses("172.18.0.1", "172.18.7.1", "10.1.1.254"),
	}
	Widen(c, []*snapshot.NodeSnapshot{{
		Hostname: "node2",
		Devices:  []snapshot.Device{{Name: "eth0", Addresses: []snapshot.Address{{Prefix: prefix("172.18.7.2/16")}}}},
		Routes: []snapshot.Route{
			{Dst: prefix("0.0.0.0/0"), NextHops: []snapshot.NextHop{{Via: netip.MustParseAddr("172.18.255.254"), Dev: "eth0"}}},
		},
	}})
	assert.Equal(t, []netip.Prefix{prefix("172.18.0.0/16"), prefix("10.1.1.0/24")}, c.Underlay)
	assert.Equal(t, addresses("172.18.255.254", "10.1.1.254"), c.Router)
}
