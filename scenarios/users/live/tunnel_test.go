package live

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// tunnelled has the nodes of the recorded cluster send to one another's pods by a tunnel, as network plugins lay it out: next hops are
// the other nodes' addresses (Calico's IPIP), or there are none (WireGuard), or the other ends' addresses in the tunnel (Flannel's VXLAN).
func tunnelled(c *Cluster, kind string) {
	own := func(cidr netip.Prefix) netip.Addr { return cidr.Masked().Addr() }
	names := map[bool]string{false: "tunnel4", true: "tunnel6"} // a tunnel has one family inside and out
	for _, taken := range c.Snapshots {
		taken.Devices, taken.Routes = slices.Clone(taken.Devices), slices.Clone(taken.Routes)
		for i := range taken.Routes {
			r := &taken.Routes[i]
			if !r.Via.IsValid() || r.Dst.Bits() == 0 || r.Dev != "eth0" {
				continue
			}
			r.Dev = names[r.Dst.Addr().Is6()]
			switch kind {
			case "wireguard":
				r.Via = netip.Addr{}
			case "vxlan":
				r.Via = own(r.Dst)
			}
		}
		for i, a := range underlayAddresses(taken) {
			d := snapshot.Device{Name: names[a.Is6()], Index: 80 + i, Kind: kind, MTU: 1400, Up: true}
			if kind == "vxlan" {
				d.VXLAN = &snapshot.VXLAN{ID: uint32(i + 1), Local: a}
			}
			for _, cidr := range cidrsOf(c, taken.Hostname, a.Is6()) {
				inside := netip.PrefixFrom(own(cidr), own(cidr).BitLen())
				d.Addresses = append(d.Addresses, snapshot.Address{Prefix: inside, Scope: packetsim.ScopeGlobal})
				taken.Routes = append(taken.Routes, snapshot.Route{Dst: inside, Dev: d.Name, Table: packetsim.TableLocal, Type: packetsim.RouteLocal})
			}
			taken.Devices = append(taken.Devices, d)
		}
		taken.Unread = append(slices.Clone(taken.Unread), snapshot.Unread{What: snapshot.UnreadForwarding, Why: "a test"})
	}
}

// cidrsOf are the networks of a node's pods, of a family.
func cidrsOf(c *Cluster, node string, v6 bool) []netip.Prefix {
	var out []netip.Prefix
	for _, n := range c.nodes() {
		for _, text := range n.Spec.PodCIDRs {
			if cidr := netip.MustParsePrefix(text); n.Name == node && cidr.Addr().Is6() == v6 {
				out = append(out, cidr)
			}
		}
	}
	return out
}

// TestTunnelsBetweenNodesAreNoFault: a cluster whose nodes send to one another by tunnels is as healthy as it was, also where the tables
// do not say who is behind a tunnel, and where some nodes have no snapshot.
func TestTunnelsBetweenNodesAreNoFault(t *testing.T) {
	for _, kind := range sample.Some(t, []string{"ipip", "wireguard", "vxlan", "geneve"}, 4) {
		for _, nodes := range [][]string{dumpNodes, dumpNodes[1:2]} {
			name := kind + " " + strings.Join(nodes, " ")
			cluster := small(t, "legacy", nodes...)
			tunnelled(cluster, kind)
			strict(cluster, "1") // what does not come by the tunnel is dropped
			out := followed(t, cluster, "tcp 10.244.2.3:40000 > 10.244.1.2:8080", "")
			assert.Equal(t, "1.00 echo-77c9b5bcb7-d6rwv demo-worker demo-worker2 echo-77c9b5bcb7-ngq5b: made: 10.244.1.2:8080 sees 10.244.2.3",
				out[0], name)
			assert.Contains(t, strings.Join(out, "\n"), "taken to", name)
			out = followed(t, cluster, "tcp [fd00:10:244:2::3]:40000 > [fd00:10:244:1::2]:8080", "")
			assert.Contains(t, out[0], ": made: ", name)
			strict(cluster, "2") // of nodes' own addresses it does not come by it
			report := examined(t, cluster)
			assert.Empty(t, report.Findings, "%s: %s", name, textOf(t, report))
		}
	}
}

// strict sets the reverse path filter of all nodes.
func strict(c *Cluster, value string) {
	for _, taken := range c.Snapshots {
		taken.Sysctls = maps.Clone(taken.Sysctls)
		taken.Sysctls["net.ipv4.conf.all.rp_filter"] = value
	}
}

// TestATunnelWithoutRemotesIsAFault: a table that was read and has nobody behind the tunnel is the node's own.
func TestATunnelWithoutRemotesIsAFault(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	tunnelled(cluster, "vxlan")
	for _, taken := range cluster.Snapshots {
		taken.Unread = nil
	}
	out := followed(t, cluster, "tcp 10.244.2.3:40000 > 10.244.1.2:8080", "")
	assert.Equal(t, "1.00 echo-77c9b5bcb7-d6rwv demo-worker: not made", out[0])
}

// TestAnAddressBehindATunnelIsNoPodOfTheNode: without objects a pod is found where a node has a device of its own to it.
func TestAnAddressBehindATunnelIsNoPodOfTheNode(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes[1:]...)
	tunnelled(cluster, "wireguard")
	cluster.Objects = nil
	out := followed(t, cluster, "tcp 10.244.2.3:40000 > 10.244.1.2:8080", "")
	require.NotEmpty(t, out)
	assert.Equal(t, "1.00 10.244.2.3 demo-worker demo-worker2 10.244.1.2: made: 10.244.1.2:8080 sees 10.244.2.3", out[0])
}
