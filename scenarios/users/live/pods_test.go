package live

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// bridged is a node whose pods are behind a bridge, as with the bridge plugin, and not each on a link with a route of its own.
func bridged(taken *snapshot.NodeSnapshot, cidrs ...string) {
	taken.Devices = slices.Clone(taken.Devices)
	bridge := snapshot.Device{Name: "cni0", Index: 90, Kind: "bridge", MTU: 1500, Up: true}
	for i := range taken.Devices {
		if d := &taken.Devices[i]; strings.HasPrefix(d.Name, "veth") {
			d.Master, d.Addresses, d.Hairpin = bridge.Name, nil, true
		}
	}
	taken.Routes = slices.DeleteFunc(slices.Clone(taken.Routes), func(r snapshot.Route) bool { return strings.HasPrefix(r.Dev, "veth") })
	for _, text := range cidrs {
		cidr := netip.MustParsePrefix(text)
		own := cidr.Addr().Next()
		bridge.Addresses = append(bridge.Addresses, snapshot.Address{Prefix: netip.PrefixFrom(own, cidr.Bits()), Scope: packetsim.ScopeGlobal})
		taken.Routes = append(taken.Routes,
			snapshot.Route{Dst: cidr, Dev: bridge.Name, Table: packetsim.TableMain, Scope: packetsim.ScopeLink},
			snapshot.Route{Dst: netip.PrefixFrom(own, own.BitLen()), Dev: bridge.Name, Table: packetsim.TableLocal, Type: packetsim.RouteLocal})
	}
	taken.Devices = append(taken.Devices, bridge)
}

func TestPodsBehindABridgeAreJudged(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	bridged(cluster.Snapshots[1], "10.244.2.0/24", "fd00:10:244:2::/64")
	bridged(cluster.Snapshots[2], "10.244.1.0/24", "fd00:10:244:1::/64")
	report := examined(t, cluster)
	assert.Empty(t, report.Findings, textOf(t, report))
	assert.Greater(t, report.Connections, 300)

	for i := range cluster.Snapshots[1].Devices {
		cluster.Snapshots[1].Devices[i].Hairpin = false
	}
	report = examined(t, cluster)
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		assert.Empty(t, slices.Concat(f.Missing, f.Foreign, f.Moved, f.Deciding), "no rule is at fault")
		assert.Contains(t, strings.Join(f.Packets[0].Way, "\n"), "is not in hairpin mode")
	}
}

// TestPodsBehindOneDeviceAreJudged: some networks have one device of a node for all of its pods, and no bridge (Antrea, OVN-Kubernetes).
func TestPodsBehindOneDeviceAreJudged(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	for _, taken := range cluster.Snapshots {
		var only string // of the devices to pods
		for i := range taken.Devices {
			if name := taken.Devices[i].Name; only == "" && strings.HasPrefix(name, "veth") {
				only = name
			}
		}
		require.NotEmpty(t, only)
		for i := range taken.Routes {
			if r := &taken.Routes[i]; strings.HasPrefix(r.Dev, "veth") {
				r.Dev = only
			}
		}
		taken.Routes = slices.CompactFunc(taken.Routes,
			func(a, b snapshot.Route) bool { return a.Dst == b.Dst && a.Dev == b.Dev && a.Table == b.Table })
	}
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	assert.Empty(t, report.Findings, textOf(t, report))
	assert.Greater(t, report.Connections, 300)
}

// TestEndpointsWithoutPodsAreJudged: who gives no Pods has an endpoint of each family behind one device.
func TestEndpointsWithoutPodsAreJudged(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	cluster.Objects = slices.DeleteFunc(cluster.Objects, func(o manifest.Object) bool { _, isPod := o.Object.(*corev1.Pod); return isPod })
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	assert.Empty(t, report.Findings, textOf(t, report))
	assert.Greater(t, report.Connections, 1500)
}
