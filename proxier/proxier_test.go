package proxier_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

var (
	_ config.Handler = (*proxier.Proxier)(nil)
	_ config.Handler = (*proxier.DualStack)(nil)
)

func webService() *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
		Spec: v1.ServiceSpec{
			Type:                  v1.ServiceTypeLoadBalancer,
			ClusterIP:             "172.30.0.41",
			ClusterIPs:            []string{"172.30.0.41", "fd00:10:96::41"},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyLocal,
			HealthCheckNodePort:   30999,
			Ports:                 []v1.ServicePort{{Name: "http", Port: 80, NodePort: 30080}},
		},
	}
}

func webSlice(family v1.IPFamily, address string, ready bool) *discovery.EndpointSlice {
	name, port, node := "http", int32(8080), "here"
	return &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-" + string(family), Labels: map[string]string{discovery.LabelServiceName: "web"},
		},
		AddressType: discovery.AddressType(family),
		Ports:       []discovery.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discovery.Endpoint{{
			Addresses: []string{address}, NodeName: &node, Conditions: discovery.EndpointConditions{Ready: &ready, Serving: &ready},
		}},
	}
}

// started returns a proxier that was given the empty API and has synced.
func started(t *testing.T, config proxier.Config) *proxier.Proxier {
	p, err := proxier.New(config)
	require.NoError(t, err)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.NoError(t, p.Sync())
	return p
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*proxier.Config)
		want string
	}{
		{"no family", func(c *proxier.Config) { c.Family = "" }, `Family is "": must be IPv4 or IPv6`},
		{"no node name", func(c *proxier.Config) { c.NodeName = "" }, "NodeName is missing"},
		{"no node IP", func(c *proxier.Config) { c.NodeIP = netip.Addr{} }, "NodeIP is missing: give a loopback address if it is not known"},
		{"node IP of the other family", func(c *proxier.Config) { c.NodeIP = netip.IPv6Loopback() }, "NodeIP ::1 is not IPv4"},
		{"no rules", func(c *proxier.Config) { c.Rules = nil }, "Rules is missing: say which, for example IPTables"},
		{"no tools", func(c *proxier.Config) { c.Rules = proxier.IPTables{} }, "Rules: IPTables has no Tools"},
		{"tools of the other family", func(c *proxier.Config) {
			c.Rules = proxier.IPTables{Tools: newRecorder(iptables.ProtocolIPv6)}
		}, "Rules: IPTables runs the wrong tools: the family is IPv4"},
		{"no sysctls", func(c *proxier.Config) { c.Sysctls = nil }, "Sysctls is missing"},
		{"mark bit too high", func(c *proxier.Config) { c.MasqueradeBit = 32 }, "MasqueradeBit is 32: must be 0 to 31"},
		{"mark bit negative", func(c *proxier.Config) { c.MasqueradeBit = -1 }, "MasqueradeBit is -1: must be 0 to 31"},
		{"pods of the other family", func(c *proxier.Config) {
			c.LocalDetector = proxier.DetectLocalByCIDR(netip.MustParsePrefix("fd00::/64"))
		}, "LocalDetector: range fd00::/64 is not IPv4"},
		{"device name that is no word", func(c *proxier.Config) { c.LocalDetector = proxier.DetectLocalByBridgeInterface("a\n-j ACCEPT") },
			`LocalDetector: device name has spaces, quotes or control characters: "a\n-j ACCEPT"`},
		{"node port ranges without a network", func(c *proxier.Config) {
			c.Network = nil
			c.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		}, "Network is missing: NodePortAddresses cannot be looked up without it"},
		{"empty node port range", func(c *proxier.Config) { c.NodePortAddresses = []netip.Prefix{{}} }, "NodePortAddresses: empty range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, _ := testConfig(v1.IPv4Protocol)
			test.edit(&config)
			_, err := proxier.New(config)
			require.Error(t, err)
			assert.Equal(t, "proxier configuration: "+test.want, err.Error())
		})
	}
	_, err := proxier.New(proxier.Config{MasqueradeBit: 40})
	require.ErrorContains(t, err, "Sysctls is missing\nMasqueradeBit is 40", "all mistakes at once")
}

func TestNetworkIsNotNeededForEveryAddress(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	config.Network = nil
	config.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("fd00::/64"), netip.MustParsePrefix("0.0.0.0/0")}
	started(t, config)
}

func TestSyncWaitsForFirstObjects(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	p, err := proxier.New(config)
	require.NoError(t, err)
	require.ErrorIs(t, p.Sync(), proxier.ErrNotDelivered)
	p.OnServiceSynced()
	require.ErrorIs(t, p.Sync(), proxier.ErrNotDelivered)
	assert.Empty(t, recorderOf(config).calls, "nothing was written")
	p.OnEndpointSlicesSynced()
	require.NoError(t, p.Sync())
}

func TestSyncOrder(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.LocalhostNodePorts = true
	countWith(&config, host)
	started(t, config)
	calls := recorderOf(config).calls
	require.Len(t, calls, 8+14+2)
	for i, call := range calls[:22] {
		what, rest, _ := strings.Cut(call, " ")
		table, rest, _ := strings.Cut(rest, " ")
		if what == "rule" {
			require.Contains(t, call, " -I ", "jumps are put first")
			target := rest[strings.LastIndex(rest, `"KUBE-`)+1:]
			rest = strings.TrimRight(target, `"]`)
		}
		ensured := slices.Index(calls, "chain "+table+" "+rest)
		require.True(t, ensured >= 0 && ensured <= i, "a chain is there before what jumps to it, and is made once: %s", call)
	}
	assert.Equal(t, []string{"save nat", "restore flush=false counters=true"}, calls[22:])
	assert.Equal(t, []string{"ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts"}, host.ensured)
	assert.Equal(t, 1, host.sysctls["net/ipv4/conf/all/route_localnet"])
}

// A rule that refers to a counter that is not there fails the whole restore.
func TestCounterThatCannotBeMade(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	countWith(&config, host)
	host.nfacct = map[string]error{"ct_state_invalid_dropped_pkts": errFault}
	p := started(t, config)
	r := recorderOf(config)
	assert.Contains(t, r.last(), "--ctstate INVALID -j DROP")
	assert.NotContains(t, r.last(), "nfacct")

	host.nfacct = nil
	require.NoError(t, p.SyncAll())
	assert.Contains(t, r.last(), "--ctstate INVALID -m nfacct --nfacct-name ct_state_invalid_dropped_pkts -j DROP")
}

func TestFailedSyncLosesNothing(t *testing.T) {
	for _, call := range []string{"chain filter KUBE-FORWARD", "rule nat -I PREROUTING", "restore"} {
		t.Run(call, func(t *testing.T) {
			config, _ := testConfig(v1.IPv4Protocol)
			p := started(t, config)
			r := recorderOf(config)
			r.restored = nil
			p.OnServiceAdd(webService())
			p.OnEndpointSliceAdd(webSlice(v1.IPv4Protocol, "10.180.0.1", true))

			r.fail[call] = errFault
			err := p.SyncAll()
			require.ErrorIs(t, err, errFault)
			assert.ErrorContains(t, err, "syncing IPv4 rules: ")
			assert.Empty(t, r.restored)
			assert.True(t, p.NeedsSync())
			assert.Empty(t, p.Health(), "health follows the rules")

			delete(r.fail, call)
			require.NoError(t, p.Sync())
			assert.Contains(t, r.last(), "10.180.0.1:8080")
			assert.False(t, p.NeedsSync())
		})
	}
}

// Stale chains and the node's addresses are no reason to hold up the rest.
func TestSyncGoesOnWithout(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}
	host.noNetwork = errFault
	r := recorderOf(config)
	r.fail["save"] = errFault
	r.natNames = []string{"KUBE-SVC-STALE"}
	started(t, config)
	assert.NotContains(t, r.last(), "-X")
	assert.NotContains(t, r.last(), "-j KUBE-NODEPORTS")
}

func TestNeedsSyncAndChanged(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	changes := 0
	config.Changed = func() { changes++ }
	p, err := proxier.New(config)
	require.NoError(t, err)
	// expect runs one step and tells how it shows.
	expect := func(name string, step func(), wantChanges int, wantNeeds bool) {
		changes = 0
		step()
		assert.Equal(t, wantChanges, changes, name)
		assert.Equal(t, wantNeeds, p.NeedsSync(), name)
	}
	node := func(name, zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}}}
	}
	syncNow := func() { require.NoError(t, p.Sync()) }
	service, slice := webService(), webSlice(v1.IPv4Protocol, "10.180.0.1", true)

	expect("before the first objects are there", func() { p.OnServiceAdd(service) }, 0, true)
	expect("Services are there", p.OnServiceSynced, 0, true)
	expect("EndpointSlices are there", p.OnEndpointSlicesSynced, 1, true)
	expect("first sync", syncNow, 0, false)
	expect("new slice", func() { p.OnEndpointSliceAdd(slice) }, 1, true)
	expect("sync", syncNow, 0, false)
	expect("same slice again", func() { p.OnEndpointSliceUpdate(slice, slice.DeepCopy()) }, 0, false)
	expect("same Service again", func() { p.OnServiceUpdate(service, service.DeepCopy()) }, 0, false)
	expect("slice of the other family", func() { p.OnEndpointSliceAdd(webSlice(v1.IPv6Protocol, "fd00::1", true)) }, 0, false)
	expect("zone", func() { p.OnNodeAdd(node("here", "a")) }, 1, true)
	expect("sync", syncNow, 0, false)
	expect("same zone again", func() { p.OnNodeUpdate(nil, node("here", "a")) }, 0, false)
	expect("zone of another node", func() { p.OnNodeUpdate(nil, node("there", "b")) }, 0, false)
	expect("node deleted", func() { p.OnNodeDelete(node("here", "a")) }, 0, false)
	expect("nodes are there", p.OnNodeSynced, 0, false)
	expect("Service deleted", func() { p.OnServiceDelete(service) }, 1, true)
	expect("sync", syncNow, 0, false)
	expect("slice deleted", func() { p.OnEndpointSliceDelete(slice) }, 1, true)
}

// Events come at any time; none may be lost or torn.
func TestEventsDuringSync(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	p := started(t, config)
	var events sync.WaitGroup
	events.Go(func() {
		for i := range 100 {
			service := webService()
			service.Spec.Ports[0].Port = int32(1000 + i)
			p.OnServiceUpdate(nil, service)
		}
	})
	events.Go(func() {
		for i := range 100 {
			p.OnEndpointSliceUpdate(nil, webSlice(v1.IPv4Protocol, fmt.Sprintf("10.180.0.%d", i), true))
		}
	})
	for range 20 {
		require.NoError(t, p.Sync())
	}
	events.Wait()
	require.NoError(t, p.Sync())
	assert.False(t, p.NeedsSync())

	// How the events fall among the syncs is chance. What they add up to is not.
	fresh, _ := testConfig(v1.IPv4Protocol)
	q, err := proxier.New(fresh)
	require.NoError(t, err)
	service := webService()
	service.Spec.Ports[0].Port = 1099
	q.OnServiceAdd(service)
	q.OnEndpointSliceAdd(webSlice(v1.IPv4Protocol, "10.180.0.99", true))
	q.OnServiceSynced()
	q.OnEndpointSlicesSynced()
	require.NoError(t, q.Sync())
	want := chainsOf(t, fresh)
	assert.Contains(t, strings.Join(want["nat KUBE-SERVICES"], "\n"), "-d 172.30.0.41 --dport 1099 ")
	assert.Equal(t, want, chainsOf(t, config))
}

// chainsOf are the chains after all restores.
func chainsOf(t *testing.T, config proxier.Config) chainText {
	chains := chainText{}
	for _, input := range recorderOf(config).restored {
		chains.restore(t, input)
	}
	return chains
}

func TestHealth(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	p := started(t, config)
	web := types.NamespacedName{Namespace: "ns", Name: "web"}
	service := webService()
	p.OnServiceAdd(service)
	p.OnEndpointSliceAdd(webSlice(v1.IPv4Protocol, "10.180.0.1", true))
	assert.Empty(t, p.Health(), "nothing was synced yet")
	require.NoError(t, p.Sync())
	assert.Equal(t, map[types.NamespacedName]proxier.ServiceHealth{web: {Port: 30999, LocalEndpoints: 1}}, p.Health())

	p.OnEndpointSliceUpdate(nil, webSlice(v1.IPv4Protocol, "10.180.0.1", false))
	require.NoError(t, p.Sync())
	assert.Equal(t, map[types.NamespacedName]proxier.ServiceHealth{web: {Port: 30999}}, p.Health())

	p.OnServiceDelete(service)
	require.NoError(t, p.Sync())
	assert.Empty(t, p.Health())
}

func TestMonitorSyncsAfterFlush(t *testing.T) {
	config, _ := testConfig(v1.IPv4Protocol)
	p := started(t, config)
	r := recorderOf(config)
	r.calls, r.restored = nil, nil
	r.monitored = func(reload func()) {
		reload()
		assert.Len(t, r.restored, 1)
		r.fail["restore"] = errFault
		reload()
		assert.True(t, p.NeedsSync(), "a failure is tried again")
	}
	p.Monitor(time.Minute, nil)
	assert.Equal(t, "monitor KUBE-PROXY-CANARY [mangle nat filter] 2 rules 1m0s", r.calls[0])
}
