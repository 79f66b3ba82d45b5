//go:build linux

package snapshot

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
)

// TestTakeOfLinksOfTheKernel reads what a machine knows of the machines behind its bridges and tunnels, its routes with several
// next hops, its sets and quotas, and builds a Host that says the same of itself.
func TestTakeOfLinksOfTheKernel(t *testing.T) {
	lab := newLab(t)
	lab.node.Must(
		"ip link add br0 type bridge",
		"ip link add p1 type veth peer name q1",
		"ip link add p2 type veth peer name q2",
		"ip link set p1 master br0 group 5 up", "ip link set p2 master br0 up", "ip link set q1 up", "ip link set br0 up",
		"ip link set p1 type bridge_slave hairpin on",
		"ip addr add 10.66.0.1/24 dev br0",
		"bridge fdb replace 02:00:00:00:66:02 dev p1 master static",
		"bridge fdb replace 02:00:00:00:66:03 dev p2 master static",
		"ip neigh replace 10.66.0.2 lladdr 02:00:00:00:66:02 dev br0 nud permanent",
		"ip -6 neigh replace fd66::2 lladdr 02:00:00:00:66:02 dev br0 nud permanent",
		"ip neigh replace 10.66.0.3 lladdr 02:00:00:00:66:03 dev br0 nud permanent",
		"ip neigh replace 10.66.0.9 lladdr 02:00:00:00:66:09 dev br0 nud permanent", // of no port
		"ip link add vx0 type vxlan id 7 dstport 4789 local 10.88.1.1 nolearning",
		"ip addr add 10.67.0.0/32 dev vx0", "ip link set vx0 up",
		"bridge fdb append 02:00:00:00:67:01 dev vx0 dst 10.88.1.2",
		"ip neigh replace 10.67.1.0 lladdr 02:00:00:00:67:01 dev vx0 nud permanent",
		"ip link add vx1 type vxlan external dstport 4790",
		"ip route add 10.68.0.0/16 nexthop via 10.88.1.2 dev n0 weight 3 nexthop via 10.88.2.2 dev n1",
		"ip -6 route add fd68::/64 nexthop via fd88::5 dev n0 weight 2 nexthop via fd88::6 dev n0",
		"nfacct add cw-quota packet 5",
		"ipset create cw-set hash:ip,port", "ipset add cw-set 10.66.0.2,udp:53",
	)
	s := lab.take()
	t.Run("what was configured is in it", func(t *testing.T) { checkLinks(t, s) })
	t.Run("it is read back", func(t *testing.T) {
		var b bytes.Buffer
		require.NoError(t, s.Write(&b, YAML))
		again, err := Read("node.yaml", &b)
		require.NoError(t, err)
		assert.Equal(t, s, again)
	})
	t.Run("a host built of it says the same", func(t *testing.T) {
		h, err := NewHost(s, HostOptions{Dialect: "nft"})
		require.NoError(t, err)
		again, err := Of(h)
		require.NoError(t, err)
		for i := range s.Devices {
			s.Devices[i].PeerNetns = nil // a Host does not keep it
		}
		assert.Equal(t, s.Devices, again.Devices)
		assert.ElementsMatch(t, s.Routes, again.Routes)
		assert.Equal(t, s.NFAcct, again.NFAcct)
		assert.Equal(t, s.IPSets, again.IPSets)
	})
}

func checkLinks(t *testing.T, s *NodeSnapshot) {
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	devices := map[string]Device{}
	for _, d := range s.Devices {
		devices[d.Name] = d
	}
	assert.True(t, devices["p1"].Hairpin)
	assert.EqualValues(t, 5, devices["p1"].Group)
	assert.Zero(t, devices["p2"].Group)
	assert.Equal(t, []netip.Addr{addr("10.66.0.2"), addr("fd66::2")}, devices["p1"].Neighbours)
	assert.False(t, devices["p2"].Hairpin)
	assert.Equal(t, []netip.Addr{addr("10.66.0.3")}, devices["p2"].Neighbours)
	assert.Empty(t, devices["br0"].Neighbours)
	assert.Equal(t, &VXLAN{ID: 7, Port: 4789, Local: addr("10.88.1.1"), Remotes: []Remote{{addr("10.67.1.0"), addr("10.88.1.2")}}},
		devices["vx0"].VXLAN)
	assert.Nil(t, devices["vx1"].VXLAN)
	assert.Contains(t, s.Unread,
		Unread{What: "tunnel vx1", Why: "not supported: a tunnel whose identifier is set for each packet by a program"})

	assert.Contains(t, s.Routes, Route{Dst: prefix("10.68.0.0/16"), Type: packetsim.RouteUnicast, Table: packetsim.TableMain,
		Scope: packetsim.ScopeGlobal, Protocol: "boot",
		NextHops: []NextHop{{addr("10.88.1.2"), "n0", 3}, {addr("10.88.2.2"), "n1", 1}}})
	assert.Contains(t, s.Routes, Route{Dst: prefix("fd68::/64"), Type: packetsim.RouteUnicast, Table: packetsim.TableMain,
		Scope: packetsim.ScopeGlobal, Protocol: "boot", Metric: 1024,
		NextHops: []NextHop{{addr("fd88::5"), "n0", 2}, {addr("fd88::6"), "n0", 1}}})
	assert.Contains(t, s.NFAcct, NFAcct{Name: "cw-quota", Mode: "packet", Quota: 5})
	assert.Contains(t, s.IPSets, "add cw-set 10.66.0.2,udp:53\n")
}
