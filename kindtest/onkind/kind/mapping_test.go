package kind

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// mapped is the cluster of a scenario whose topology and objects are given, and its mapping on three nodes.
func mapped(t *testing.T, text string) (*scenarios.Cluster, *Mapping) {
	t.Helper()
	s, err := scenarios.Read("in.yaml", strings.NewReader("name: a\nsteps: [{sync: true}]\n"+text))
	require.NoError(t, err)
	c, err := scenarios.Resolve(s)
	require.NoError(t, err)
	m, err := Map(threeNodes(), c)
	require.NoError(t, err)
	return c, m
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

const smallDual = `
topology:
  ipFamily: dual
  nodes: [{extraAddresses: [192.168.1.2]}, {}]
  pods: [{name: client, node: node1}, {name: server, node: node2}]
  outside: [{name: internet, addresses: [203.0.113.2, "2001:db8:9::2"]}, {name: neighbour, addresses: [192.168.0.99]}, {name: odd, addresses: [172.18.0.77]}]
`

func TestEachAddressHasOneOfItsOwn(t *testing.T) {
	_, m := mapped(t, smallDual)
	for _, row := range []struct{ what, of, in string }{
		{"the first node is the first worker", "192.168.0.2", "172.18.0.4"},
		{"its IPv6 address", "2001:db8::2", "fc00:f853:ccd:e793::4"},
		{"the second node", "192.168.0.3", "172.18.0.3"},
		{"a further address of a node, in the other half of the nodes' network", "192.168.1.2", "172.18.128.129"},
		{"the address by which a node's pods know it", "10.244.1.1", "10.244.2.1"},
		{"a pod is one of the pool, on its node", "10.244.1.100", "10.244.2.2"},
		{"the pod's other address", "fd00:10:244:1::64", "fd00:10:244:2::2"},
		{"a pod of the other node", "10.244.2.101", "10.244.1.2"},
		{"a machine far away stays where it is", "203.0.113.2", "203.0.113.2"},
		{"a machine in the nodes' network is in theirs", "192.168.0.99", "172.18.0.129"},
		{"a machine whose address means something here", "172.18.0.77", "198.18.0.129"},
		{"a pod's address that nobody has", "10.244.2.9", "10.244.1.129"},
		{"an address of the nodes' network that nobody has", "192.168.0.250", "172.18.0.130"},
		{"any other", "198.51.100.1", "198.51.100.1"},
		{"loopback is the same everywhere", "127.0.0.1", "127.0.0.1"},
	} {
		t.Run(row.what, func(t *testing.T) {
			assert.Equal(t, addr(row.in), m.To(addr(row.of)))
			assert.Equal(t, addr(row.of), m.Back(addr(row.in)))
			assert.Equal(t, addr(row.in), m.To(addr(row.of)), "it stays")
		})
	}
	assert.Equal(t, addr("8.8.8.8"), m.Back(addr("8.8.8.8")))
}

func TestClusterIPsAreInTheClustersRange(t *testing.T) {
	_, m := mapped(t, smallDual)
	first, second := m.clusterIP(addr("172.30.0.41")), m.clusterIP(addr("172.30.0.42"))
	assert.True(t, netip.MustParsePrefix("10.96.0.0/12").Contains(first))
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, m.To(addr("172.30.0.41")), "also where it is called")
	assert.Equal(t, addr("10.96.7.7"), m.clusterIP(addr("10.96.7.7")), "one of the range stays")
	assert.NotEqual(t, addr("10.96.0.1"), m.clusterIP(addr("10.96.0.1")), "but not if it is taken")
}

func TestHostsSayWhereTheirAgentsAre(t *testing.T) {
	_, m := mapped(t, smallDual)
	for name, want := range map[string][2]string{
		"node1": {"worker", "worker"}, "client": {"worker", "worker-0"}, "server": {"worker2", "worker2-0"}, "internet": {"outside", "outside"},
	} {
		host, ok := m.Host(name)
		require.True(t, ok, name)
		assert.Equal(t, want, [2]string{host.Machine, host.Agent}, name)
	}
	_, ok := m.Host("nobody")
	assert.False(t, ok)
	assert.Equal(t, "worker2", m.Node("node2"))
	assert.Equal(t, "node9", m.Node("node9"))
	assert.Equal(t, "server", m.Owner(addr("10.244.2.101")))
	assert.Empty(t, m.Owner(addr("10.244.2.99")))
}

func TestAMappingSaysWhatTheClusterLacks(t *testing.T) {
	s, err := scenarios.Read("in.yaml", strings.NewReader("{name: a, topology: {nodes: 4}, steps: [{sync: true}]}"))
	require.NoError(t, err)
	c, err := scenarios.Resolve(s)
	require.NoError(t, err)
	_, err = Map(threeNodes(), c)
	require.EqualError(t, err, "it has 4 nodes, and the cluster has 3")

	four := threeNodes()
	for i := range four.Nodes {
		four.Nodes[i].Addresses = four.Nodes[i].Addresses[:1]
	}
	c.IPFamily = scenarios.FamilyIPv6
	_, err = Map(four, c)
	require.EqualError(t, err, "the cluster has no ipv6")
}

func TestPodsBeyondThePoolShareOne(t *testing.T) {
	text := "topology:\n  nodes: 1\n  pods:\n"
	for i := range 12 {
		text += "  - {name: pod" + string(rune('a'+i)) + ", node: node1}\n"
	}
	_, m := mapped(t, text)
	assert.False(t, m.Shared("poda"), "the first stays alone")
	assert.True(t, m.Shared("podi"))
	assert.True(t, m.added("podi"))
	host, _ := m.Host("podi")
	for name, other := range map[string]string{"podg": "worker-6"} {
		with, _ := m.Host(name)
		assert.Equal(t, other, with.Agent)
		assert.Equal(t, other, host.Agent)
		assert.True(t, m.Shared(name), "it has company")
		assert.False(t, m.added(name))
	}
	assert.True(t, netip.MustParsePrefix("10.244.2.0/24").Contains(host.Addresses[0]))
}

func TestAPlaceIsTakenAgain(t *testing.T) {
	c, m := mapped(t, smallDual)
	m.stopPods([]string{"server"})
	require.NoError(t, c.StopPods([]string{"server"}))
	_, ok := m.Host("server")
	assert.False(t, ok)
	require.NoError(t, c.StartPods([]scenarios.Pod{
		{Name: "stranger", Node: "node2", Addresses: []netip.Addr{addr("10.244.2.101"), addr("fd00:10:244:2::65")}},
		{Name: "other", Node: "node2"},
	}))
	require.NoError(t, m.startPods(c.Pods[1:]))
	stranger, _ := m.Host("stranger")
	other, _ := m.Host("other")
	assert.Equal(t, "worker2-0", stranger.Agent)
	assert.Equal(t, "worker2-1", other.Agent)
}

func TestRanges(t *testing.T) {
	_, m := mapped(t, smallDual)
	for _, row := range []struct{ what, of, in string }{
		{"the pods of all nodes", "10.244.0.0/16", "10.244.0.0/22"},
		{"those of one", "10.244.2.0/24", "10.244.1.0/24"},
		{"of IPv6", "fd00:10:244::/56", "fd00:10:244::/62"},
		{"machines far away", "203.0.113.0/25", "203.0.113.0/25"},
		{"one address", "192.168.0.2/32", "172.18.0.4/32"},
		{"everything", "0.0.0.0/0", "0.0.0.0/0"},
		{"half of everything", "128.0.0.0/1", "128.0.0.0/1"},
		{"loopback", "127.0.0.0/8", "127.0.0.0/8"},
		{"the nodes with their further addresses", "192.168.0.0/16", "172.18.0.0/16"},
		{"the nodes and their neighbours", "192.168.0.0/24", "172.18.0.0/24"},
		{"nobody's", "198.51.100.0/24", "198.51.100.0/24"},
	} {
		t.Run(row.what, func(t *testing.T) {
			in, err := m.addressRange(netip.MustParsePrefix(row.of))
			require.NoError(t, err)
			assert.Equal(t, netip.MustParsePrefix(row.in), in)
		})
	}
	_, err := m.addressRange(netip.MustParsePrefix("192.168.0.0/30"))
	require.NoError(t, err, "the nodes alone")
	_, err = m.addressRange(netip.MustParsePrefix("192.0.0.0/4"))
	require.EqualError(t, err, "no range of the cluster holds what 192.0.0.0/4 holds, and nothing else")
}

const smallObjects = smallDual + `
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web, uid: abc, resourceVersion: "7", labels: {app: web}}
  spec:
    type: LoadBalancer
    clusterIPs: [172.30.0.41, "fd00:30::41"]
    ipFamilies: [IPv4, IPv6]
    externalIPs: [192.168.0.3, 198.51.100.5]
    loadBalancerSourceRanges: [" 10.244.1.0/24", 203.0.113.0/25]
    ports: [{name: http, port: 80, nodePort: 30080}]
  status: {loadBalancer: {ingress: [{ip: 172.18.0.9}, {hostname: lb.example}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: http, port: 8080}]
  endpoints:
  - {addresses: [10.244.1.100], nodeName: node1, hints: {forZones: [{name: a}], forNodes: [{name: node2}]}}
  - {addresses: [192.168.0.3]}
`

func TestObjectsAreMappedAndLeftAsTheyAre(t *testing.T) {
	c, m := mapped(t, smallObjects)
	objects := c.Objects[len(c.Nodes):]
	before := []string{objects[0].Object.(*corev1.Service).String(), objects[1].Object.(*discoveryv1.EndpointSlice).String()}

	o, err := m.object(objects[0])
	require.NoError(t, err)
	service := o.(*corev1.Service)
	assert.Equal(t, []string{m.To(addr("172.30.0.41")).String(), m.To(addr("fd00:30::41")).String()}, service.Spec.ClusterIPs)
	assert.Equal(t, service.Spec.ClusterIPs[0], service.Spec.ClusterIP)
	assert.Equal(t, []string{"172.18.0.3", "198.51.100.5"}, service.Spec.ExternalIPs)
	assert.Equal(t, []string{" 10.244.2.0/24", "203.0.113.0/25"}, service.Spec.LoadBalancerSourceRanges)
	assert.Equal(t, "lb.example", service.Status.LoadBalancer.Ingress[1].Hostname)
	assert.Equal(t, "198.18.0.130", service.Status.LoadBalancer.Ingress[0].IP, "Docker's network is no load balancer's")
	assert.Empty(t, service.UID)
	assert.Empty(t, service.ResourceVersion)
	assert.Equal(t, map[string]string{"app": "web", sessionLabel: "true"}, service.Labels)

	o, err = m.object(objects[1])
	require.NoError(t, err)
	slice := o.(*discoveryv1.EndpointSlice)
	assert.Equal(t, "10.244.2.2", slice.Endpoints[0].Addresses[0])
	assert.Equal(t, "worker", *slice.Endpoints[0].NodeName)
	assert.Equal(t, "worker2", slice.Endpoints[0].Hints.ForNodes[0].Name)
	assert.Equal(t, "a", slice.Endpoints[0].Hints.ForZones[0].Name)
	assert.Equal(t, "172.18.0.3", slice.Endpoints[1].Addresses[0])

	assert.Equal(t, before[0], objects[0].Object.(*corev1.Service).String())
	assert.Equal(t, before[1], objects[1].Object.(*discoveryv1.EndpointSlice).String())
}

func TestConfigurationsAreMapped(t *testing.T) {
	c, m := mapped(t, smallDual+"kubeProxy: {nodePortAddresses: [primary, 192.168.0.0/16], detectLocal: {bridgeInterface: veth1}, "+
		"iptables: {masqueradeAll: true, masqueradeBit: 15, syncPeriod: 5s}}\n")
	config, err := m.config("node1", c.Configs["node1"], "vethabc")
	require.NoError(t, err)
	assert.Equal(t, "worker", config.HostnameOverride)
	assert.Equal(t, "10.244.0.0/22,fd00:10:244::/62", config.ClusterCIDR)
	assert.Equal(t, []string{"primary", "172.18.0.0/16"}, config.NodePortAddresses)
	assert.Equal(t, "vethabc", config.DetectLocal.BridgeInterface)
	assert.Equal(t, minSyncPeriod, config.IPTables.MinSyncPeriod.Duration)
	assert.Equal(t, "node1", c.Configs["node1"].HostnameOverride)
	assert.Equal(t, kubeproxyconfig.KubeProxyNFTablesConfiguration{
		MasqueradeAll: true, MasqueradeBit: ptr.To[int32](15), MinSyncPeriod: metav1.Duration{Duration: minSyncPeriod},
		SyncPeriod: metav1.Duration{Duration: 5 * time.Second},
	}, config.NFTables, "what scenarios say of mode iptables is meant for any")

	c, m = mapped(t, smallDual+"kubeProxy: {clusterCIDR: \"\"}\n")
	config, err = m.config("node1", c.Configs["node1"], "")
	require.NoError(t, err)
	assert.Empty(t, config.ClusterCIDR, "no detector stays none")
}

// TestARangeOfAListMayBecomeItsAddresses, where no range of the cluster has them and no others. Nothing else does.
func TestARangeOfAListMayBecomeItsAddresses(t *testing.T) {
	c, m := mapped(t, `
topology: {nodes: [{extraAddresses: [192.168.1.2, 10.99.0.2]}, {}]}
kubeProxy: {nodePortAddresses: [192.168.0.0/23, 10.99.0.0/16]}
`)
	config, err := m.config("node1", c.Configs["node1"], "")
	require.NoError(t, err)
	assert.Equal(t, []string{"172.18.0.4/32", "172.18.128.129/32", "172.18.0.3/32", "172.18.128.130/32"}, config.NodePortAddresses)
}

// TestProxiesLookOftenForAFlush that a scenario makes, and as often as ever otherwise.
func TestProxiesLookOftenForAFlush(t *testing.T) {
	for steps, want := range map[string]time.Duration{
		"{fault: {flush: [nat]}}": flushedSyncPeriod, "{fault: {run: [iptables -F INPUT]}}": flushedSyncPeriod,
		"{fault: {run: [iptables -t nat -F KUBE-SERVICES]}}": 0, "{fault: {run: [iptables -N A]}}": 0,
	} {
		s, err := scenarios.Read("in.yaml", strings.NewReader("name: a\nsteps: ["+steps+", {sync: true}]\n"))
		require.NoError(t, err)
		c, err := scenarios.Resolve(s)
		require.NoError(t, err)
		m, err := Map(threeNodes(), c)
		require.NoError(t, err)
		config, err := m.config("node1", c.Configs["node1"], "")
		require.NoError(t, err)
		assert.Equal(t, want, config.IPTables.SyncPeriod.Duration, steps)
	}
}

// TestOldSpellingsStayOld: an address with leading zeros stands for one with leading zeros, any other for a proper one.
func TestOldSpellingsStayOld(t *testing.T) {
	_, m := mapped(t, smallDual)
	for text, want := range map[string]string{
		"192.168.000.002": "172.018.000.004", "192.168.0.2": "172.18.0.4", "203.0.113.002": "203.000.113.002",
		"2001:db8::2": "fc00:f853:ccd:e793::4", "a name": "a name",
	} {
		assert.Equal(t, want, m.text(text), text)
	}
}

// TestAnAPIServerThatTakesNoOldSpellingsIsGivenNone: it is asked, without anything being made.
func TestAnAPIServerThatTakesNoOldSpellingsIsGivenNone(t *testing.T) {
	const old = "name: a\nsteps: [{sync: true}]\n" +
		"objects: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {externalIPs: [192.168.099.022], ports: [{port: 80}]}}]\n"
	parsed, err := scenarios.Read("in.yaml", strings.NewReader(old))
	require.NoError(t, err)
	b, s := scripted(t)
	for refuses, want := range map[bool]string{false: "",
		true: `service default/web: an API server does not take "192.168.099.022", with leading zeros`} {
		s.validate = func(a clienttesting.Action) error {
			if create, ok := a.(clienttesting.CreateActionImpl); ok {
				assert.Equal(t, []string{metav1.DryRunAll}, create.CreateOptions.DryRun)
			}
			if refuses {
				return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "a", nil)
			}
			return nil
		}
		require.NoError(t, b.learnSpellings(t.Context()))
		assert.Equal(t, want, b.Unsupported(parsed))
	}
}

func endpoint(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestClustersOnOneNetworkGiveThemselvesOtherAddressesOfIt: whatever a scenario has there, no address of one place is one of the other.
func TestClustersOnOneNetworkGiveThemselvesOtherAddressesOfIt(t *testing.T) {
	all, err := shippedFiles()
	require.NoError(t, err)
	given := [2]map[netip.Addr]string{{}, {}}
	for _, s := range all {
		c, err := scenarios.ResolveWith(s, controller.New)
		require.NoError(t, err)
		for place := range given {
			facts := threeNodes()
			facts.Place = place
			m, err := Map(facts, c)
			if err != nil {
				continue // of too many nodes, or of another family
			}
			for in, of := range m.back {
				if slices.ContainsFunc(facts.Networks, func(p netip.Prefix) bool { return p.Contains(in) }) && facts.nodeOf(in) == "" {
					given[place][in] = s.Name
				}
				assert.Equal(t, of, m.Back(m.To(of)), s.Name)
			}
		}
	}
	for place := range given {
		require.Greater(t, len(given[place]), 4, "there are such addresses")
	}
	for in, name := range given[0] {
		assert.NotContains(t, given[1], in, name)
	}
}

// nodeOf is the node that has an address of its own, empty if none has it.
func (f *Facts) nodeOf(a netip.Addr) string {
	for i := range f.Nodes {
		if slices.Contains(f.Nodes[i].Addresses, a) {
			return f.Nodes[i].Name
		}
	}
	return ""
}
