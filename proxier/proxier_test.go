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

func TestRouteLocalnet(t *testing.T) {
	const name = "net/ipv4/conf/all/route_localnet"
	tests := []struct {
		name   string
		family v1.IPFamily
		edit   func(*proxier.Config)
		want   map[string]int
	}{
		{"localhost node ports", v1.IPv4Protocol, func(*proxier.Config) {}, map[string]int{name: 1}},
		{"turned off", v1.IPv4Protocol, func(c *proxier.Config) { c.LocalhostNodePorts = false }, map[string]int{}},
		{"loopback is not among the ranges", v1.IPv4Protocol, func(c *proxier.Config) {
			c.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}
		}, map[string]int{}},
		{"IPv6", v1.IPv6Protocol, func(*proxier.Config) {}, map[string]int{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, host := testConfig(test.family)
			config.LocalhostNodePorts = true
			test.edit(&config)
			started(t, config)
			assert.Equal(t, test.want, host.sysctls)
		})
	}
}

func TestLoopbackGuard(t *testing.T) {
	const name = "net/ipv4/conf/all/route_localnet"
	const guard = "-d 127.0.0.0/8 ! -s 127.0.0.0/8"
	tests := []struct {
		name   string
		family v1.IPFamily
		routed int
		edit   func(*proxier.Config)
		want   bool
	}{
		{"localhost node ports", v1.IPv4Protocol, 0, func(c *proxier.Config) { c.LocalhostNodePorts = true }, true},
		{"turned off, never routed", v1.IPv4Protocol, 0, func(*proxier.Config) {}, false},
		{"turned off, still routed", v1.IPv4Protocol, 1, func(*proxier.Config) {}, true},
		{"loopback is not among the ranges any more", v1.IPv4Protocol, 1, func(c *proxier.Config) {
			c.LocalhostNodePorts = true
			c.NodePortAddresses = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}
		}, true},
		{"IPv6", v1.IPv6Protocol, 1, func(*proxier.Config) {}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, host := testConfig(test.family)
			if test.routed != 0 {
				host.sysctls[name] = test.routed
			}
			test.edit(&config)
			started(t, config)
			assert.Equal(t, test.want, strings.Contains(recorderOf(config).last(), guard))
		})
	}
}

func TestReadOnlySysctls(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.LocalhostNodePorts = true
	host.readOnly = true
	host.sysctls["net/ipv4/conf/all/route_localnet"] = 1
	p := started(t, config) // nothing to write

	host.sysctls["net/ipv4/conf/all/route_localnet"] = 0
	require.EqualError(t, p.SyncAll(), "syncing IPv4 rules: node ports at localhost cannot work (turn them off, or leave loopback "+
		"out of the node port addresses): setting sysctl net/ipv4/conf/all/route_localnet to 1: read-only file system")
	assert.True(t, p.NeedsSync())
}

func TestConntrackBeLiberal(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.ConntrackTCPBeLiberal = true
	started(t, config)
	assert.Equal(t, 1, host.sysctls["net/netfilter/nf_conntrack_tcp_be_liberal"])
	assert.NotContains(t, recorderOf(config).last(), "INVALID")

	config, host = testConfig(v1.IPv4Protocol)
	config.ConntrackTCPBeLiberal = true
	host.readOnly = true
	p, err := proxier.New(config)
	require.NoError(t, err)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	require.ErrorContains(t, p.Sync(), "setting sysctl net/netfilter/nf_conntrack_tcp_be_liberal to 1: read-only file system")
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

func TestDualStack(t *testing.T) {
	ipv4, _ := testConfig(v1.IPv4Protocol)
	ipv6, _ := testConfig(v1.IPv6Protocol)
	d, err := proxier.NewDualStack(ipv4, ipv6)
	require.NoError(t, err)
	first, second := recorderOf(ipv4), recorderOf(ipv6)
	service, slice := webService(), webSlice(v1.IPv6Protocol, "fd00:10::1", true)
	d.OnNodeAdd(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
	d.OnNodeSynced()
	d.OnServiceAdd(service)
	d.OnEndpointSliceAdd(slice)
	require.ErrorIs(t, d.Sync(), proxier.ErrNotDelivered)
	d.OnServiceSynced()
	d.OnEndpointSlicesSynced()
	require.NoError(t, d.Sync())
	assert.Contains(t, first.last(), "has no endpoints\" -m tcp -p tcp -d 172.30.0.41")
	assert.Contains(t, second.last(), "--to-destination [fd00:10::1]:8080")

	d.OnEndpointSliceUpdate(slice, webSlice(v1.IPv6Protocol, "fd00:10::2", true))
	assert.False(t, d.IPv4.NeedsSync())
	assert.True(t, d.NeedsSync())
	first.fail["restore"] = errFault
	require.ErrorIs(t, d.SyncAll(), errFault)
	assert.Contains(t, second.last(), "--to-destination [fd00:10::2]:8080", "one family's failure does not stop the other")
	delete(first.fail, "restore")

	changed := webService()
	changed.Spec.ClusterIPs[1] = "fd00:10:96::42"
	d.OnServiceUpdate(service, changed)
	require.NoError(t, d.Sync())
	assert.Contains(t, second.last(), "-d fd00:10:96::42 ")
	d.OnEndpointSliceDelete(slice)
	d.OnServiceDelete(changed)
	d.OnNodeUpdate(nil, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
	d.OnNodeDelete(&v1.Node{})
	require.NoError(t, d.Sync())
	assert.False(t, d.NeedsSync())
	for _, r := range []*recorder{first, second} {
		assert.NotContains(t, r.last(), "ns/web")
		assert.False(t, slices.ContainsFunc(r.natNames, func(name string) bool { return strings.HasPrefix(name, "KUBE-SVC-") }))
	}

	_, err = proxier.NewDualStack(ipv6, ipv4)
	require.ErrorContains(t, err, "must be IPv4 and IPv6 in this order")
	ipv4.NodeName, ipv6.Sysctls = "", nil
	_, err = proxier.NewDualStack(ipv4, ipv6)
	require.EqualError(t, err, "IPv4: proxier configuration: NodeName is missing\nIPv6: proxier configuration: Sysctls is missing")
}

// A slice that goes while its Service stays is told to both families.
func TestDualStackTellsOfSlicesThatGo(t *testing.T) {
	ipv4, _ := testConfig(v1.IPv4Protocol)
	ipv6, _ := testConfig(v1.IPv6Protocol)
	d, err := proxier.NewDualStack(ipv4, ipv6)
	require.NoError(t, err)
	d.OnServiceSynced()
	d.OnEndpointSlicesSynced()
	d.OnServiceAdd(webService())
	slices := []*discovery.EndpointSlice{webSlice(v1.IPv4Protocol, "10.180.0.1", true), webSlice(v1.IPv6Protocol, "fd00:10::1", true)}
	for _, slice := range slices {
		d.OnEndpointSliceAdd(slice)
	}
	require.NoError(t, d.Sync())
	for _, slice := range slices {
		d.OnEndpointSliceDelete(slice)
	}
	require.NoError(t, d.Sync())
	assert.Contains(t, recorderOf(ipv4).last(), "has no endpoints\" -m tcp -p tcp -d 172.30.0.41")
	assert.Contains(t, recorderOf(ipv6).last(), "has no endpoints\" -m tcp -p tcp -d fd00:10:96::41")
}
