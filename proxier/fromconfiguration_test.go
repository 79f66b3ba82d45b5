package proxier_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/chainwalk/chainwalk/proxier"
)

func configurationOf(t *testing.T, text string) *kubeproxy.KubeProxyConfiguration {
	configuration := &kubeproxy.KubeProxyConfiguration{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), configuration))
	return configuration
}

// nodeWith returns node "here". Addresses that begin with "+" are external.
func nodeWith(podCIDRs []string, addresses ...string) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}, Spec: v1.NodeSpec{PodCIDRs: podCIDRs}}
	for _, address := range addresses {
		entry := v1.NodeAddress{Type: v1.NodeInternalIP, Address: address}
		if address[0] == '+' {
			entry = v1.NodeAddress{Type: v1.NodeExternalIP, Address: address[1:]}
		}
		node.Status.Addresses = append(node.Status.Addresses, entry)
	}
	return node
}

func TestFromConfigurationDefaults(t *testing.T) {
	settings, err := proxier.FromConfiguration(configurationOf(t, `clusterCIDR: 10.244.0.0/16,fd00:10:244::/56`), " Here ",
		nodeWith(nil, "192.168.0.2", "2001:db8::1"))
	require.NoError(t, err)
	assert.Equal(t, "here", settings.NodeName)
	assert.Equal(t, v1.IPv4Protocol, settings.PrimaryFamily)
	assert.Equal(t, 30*time.Second, settings.SyncPeriod)
	assert.Equal(t, time.Second, settings.MinSyncPeriod)
	assert.Equal(t, 15*time.Minute, settings.ConfigSyncPeriod)
	assert.Equal(t, []string{`nodePortAddresses is not set: node ports are served at every address of the node; consider "primary"`},
		settings.Warnings)
	assert.Equal(t, proxier.Config{
		Family: v1.IPv4Protocol, NodeName: "here", NodeIP: addr("192.168.0.2"), MasqueradeBit: 14, LocalhostNodePorts: true,
		LocalDetector: proxier.DetectLocalByCIDR(prefix("10.244.0.0/16")),
	}, settings.IPv4)
	assert.Equal(t, proxier.Config{
		Family: v1.IPv6Protocol, NodeName: "here", NodeIP: addr("2001:db8::1"), MasqueradeBit: 14,
		LocalDetector: proxier.DetectLocalByCIDR(prefix("fd00:10:244::/56")),
	}, settings.IPv6)
}

func TestFromConfigurationTakesFields(t *testing.T) {
	configuration := configurationOf(t, `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: Here
clusterCIDR: fd00:10:244::/56,010.244.0.9/16
configSyncPeriod: 1m
conntrack: {tcpBeLiberal: true, maxPerCore: 0, tcpEstablishedTimeout: 0s}
iptables: {masqueradeAll: true, masqueradeBit: 0, localhostNodePorts: false, syncPeriod: 10s, minSyncPeriod: 2s}
nodePortAddresses: [192.168.000.0/24, "2001:db8::/64"]
`)
	settings, err := proxier.FromConfiguration(configuration, "host", nodeWith(nil, "192.168.0.2"))
	require.NoError(t, err)
	assert.Empty(t, settings.Warnings)
	assert.Equal(t, []time.Duration{10 * time.Second, 2 * time.Second, time.Minute},
		[]time.Duration{settings.SyncPeriod, settings.MinSyncPeriod, settings.ConfigSyncPeriod})
	ranges := prefixes("192.168.0.0/24", "2001:db8::/64")
	assert.Equal(t, proxier.Config{
		Family: v1.IPv4Protocol, NodeName: "here", NodeIP: addr("192.168.0.2"), MasqueradeAll: true, ConntrackTCPBeLiberal: true,
		LocalDetector: proxier.DetectLocalByCIDR(prefix("10.244.0.0/16")), NodePortAddresses: ranges,
	}, settings.IPv4)
	assert.Equal(t, proxier.Config{
		Family: v1.IPv6Protocol, NodeName: "here", NodeIP: addr("::1"), MasqueradeAll: true, ConntrackTCPBeLiberal: true,
		LocalDetector: proxier.DetectLocalByCIDR(prefix("fd00:10:244::/56")), NodePortAddresses: ranges,
	}, settings.IPv6)
	assert.Equal(t, "Here", configuration.HostnameOverride, "the configuration is not modified")
	assert.Empty(t, configuration.BindAddress)
}

func TestFromConfigurationNodeIPs(t *testing.T) {
	tests := []struct {
		name        string
		bindAddress string
		node        *v1.Node
		primary     v1.IPFamily
		ipv4, ipv6  string
	}{
		{"no Node object", "", nil, v1.IPv4Protocol, "127.0.0.1", "::1"},
		{"a Node without addresses", "", nodeWith(nil), v1.IPv4Protocol, "127.0.0.1", "::1"},
		{"one family", "", nodeWith(nil, "192.168.0.2", "192.168.0.3"), v1.IPv4Protocol, "192.168.0.2", "::1"},
		{"both families, IPv6 first", "", nodeWith(nil, "2001:db8::1", "192.168.0.2"), v1.IPv6Protocol, "192.168.0.2", "2001:db8::1"},
		{"internal before external", "", nodeWith(nil, "+203.0.113.1", "192.168.0.2"), v1.IPv4Protocol, "192.168.0.2", "::1"},
		{"external for the family that has no internal one", "", nodeWith(nil, "+2001:db8::1", "192.168.0.2"), v1.IPv4Protocol, "192.168.0.2",
			"2001:db8::1"},
		{"names are no addresses", "", nodeWith(nil, "here.example", "192.168.0.2"), v1.IPv4Protocol, "192.168.0.2", "::1"},
		{"bind address any", "::", nodeWith(nil, "192.168.0.2"), v1.IPv4Protocol, "192.168.0.2", "::1"},
		{"bind address wins", "192.168.0.9", nodeWith(nil, "192.168.0.2"), v1.IPv4Protocol, "192.168.0.9", "::1"},
		{"bind address of the other family is primary", "2001:db8::9", nodeWith(nil, "192.168.0.2"), v1.IPv6Protocol, "192.168.0.2",
			"2001:db8::9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := proxier.FromConfiguration(&kubeproxy.KubeProxyConfiguration{BindAddress: test.bindAddress}, "here", test.node)
			require.NoError(t, err)
			assert.Equal(t, test.primary, settings.PrimaryFamily)
			assert.Equal(t, test.ipv4, settings.IPv4.NodeIP.String())
			assert.Equal(t, test.ipv6, settings.IPv6.NodeIP.String())
		})
	}
}

func TestFromConfigurationLocalDetectors(t *testing.T) {
	none := proxier.LocalDetector{}
	cidr := func(text string) proxier.LocalDetector { return proxier.DetectLocalByCIDR(prefix(text)) }
	const unrecognised = "pods of that family are not recognised"
	tests := []struct {
		name       string
		text       string
		node       *v1.Node
		ipv4, ipv6 proxier.LocalDetector
		warning    string
	}{
		{"clusterCIDR is not set", "{}", nodeWith(nil, "192.168.0.2"), none, none,
			"detectLocalMode ClusterCIDR: no range of family IPv4 in clusterCIDR; " + unrecognised},
		{"one clusterCIDR", "clusterCIDR: 10.0.0.0/8", nodeWith(nil, "192.168.0.2"), cidr("10.0.0.0/8"), none, ""},
		{"clusterCIDR of the other family", "clusterCIDR: fd00::/56", nodeWith(nil, "192.168.0.2"), none, cidr("fd00::/56"),
			"detectLocalMode ClusterCIDR: no range of family IPv4 in clusterCIDR; " + unrecognised},
		{"clusterCIDR of both families", "clusterCIDR: 10.0.0.0/8,fd00::/56", nodeWith(nil, "192.168.0.2", "2001:db8::1"),
			cidr("10.0.0.0/8"), cidr("fd00::/56"), ""},
		{"clusterCIDR of both families, the primary one last", "clusterCIDR: fd00::/56,10.0.0.0/8", nodeWith(nil, "192.168.0.2", "2001:db8::1"),
			cidr("10.0.0.0/8"), cidr("fd00::/56"), ""},
		{"IPv6 node: clusterCIDR", "clusterCIDR: fd00::/56", nodeWith(nil, "2001:db8::1"), none, cidr("fd00::/56"), ""},
		{"IPv6 node: clusterCIDR of both families", "clusterCIDR: fd00::/56,10.0.0.0/8", nodeWith(nil, "2001:db8::1", "192.168.0.2"),
			cidr("10.0.0.0/8"), cidr("fd00::/56"), ""},
		{"IPv6 node: clusterCIDR of both families, IPv4 first", "clusterCIDR: 10.0.0.0/8,fd00::/56", nodeWith(nil, "2001:db8::1", "192.168.0.2"),
			cidr("10.0.0.0/8"), cidr("fd00::/56"), ""},
		{"IPv6 node: clusterCIDR of the other family", "clusterCIDR: 10.0.0.0/8", nodeWith(nil, "2001:db8::1"), cidr("10.0.0.0/8"), none,
			"detectLocalMode ClusterCIDR: no range of family IPv6 in clusterCIDR; " + unrecognised},
		{"IPv6 node: the Node's range", "detectLocalMode: NodeCIDR", nodeWith([]string{"fd00:1::/64"}, "2001:db8::1"), none,
			cidr("fd00:1::/64"), ""},
		{"IPv6 node: the Node's ranges", "detectLocalMode: NodeCIDR", nodeWith([]string{"fd00:1::/64", "10.1.0.0/24"}, "2001:db8::1",
			"192.168.0.2"),
			cidr("10.1.0.0/24"), cidr("fd00:1::/64"), ""},
		{"IPv6 node: the Node's ranges, IPv4 first", "detectLocalMode: NodeCIDR", nodeWith([]string{"10.1.0.0/24", "fd00:1::/64"}, "2001:db8::1"),
			cidr("10.1.0.0/24"), cidr("fd00:1::/64"), ""},
		{"the Node's ranges, IPv6 first", "detectLocalMode: NodeCIDR", nodeWith([]string{"fd00:1::/64", "10.1.0.0/24"}, "192.168.0.2"),
			cidr("10.1.0.0/24"), cidr("fd00:1::/64"), ""},
		{"bind address makes IPv6 primary", "{bindAddress: '2001:db8::9', clusterCIDR: 10.0.0.0/8}", nodeWith(nil, "192.168.0.2"),
			cidr("10.0.0.0/8"), none,
			"detectLocalMode ClusterCIDR: no range of family IPv6 in clusterCIDR; " + unrecognised},
		{"the Node's ranges", "detectLocalMode: NodeCIDR", nodeWith([]string{"10.1.0.0/24", "fd00:1::/64"}, "192.168.0.2"),
			cidr("10.1.0.0/24"), cidr("fd00:1::/64"), ""},
		{"the Node's ranges, one of them broken", "detectLocalMode: NodeCIDR", nodeWith([]string{"10.1.0.0", "10.2.0.0/24"}, "192.168.0.2"),
			cidr("10.2.0.0/24"), none,
			`spec.podCIDRs of the Node: "10.1.0.0" is not an address range such as 10.0.0.0/8 or fd00::/64`},
		{"bridge", "{detectLocalMode: BridgeInterface, detectLocal: {bridgeInterface: cbr0}}", nil,
			proxier.DetectLocalByBridgeInterface("cbr0"), proxier.DetectLocalByBridgeInterface("cbr0"), ""},
		{"interface prefix", "{detectLocalMode: InterfaceNamePrefix, detectLocal: {interfaceNamePrefix: veth}}", nil,
			proxier.DetectLocalByInterfaceNamePrefix("veth"), proxier.DetectLocalByInterfaceNamePrefix("veth"), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := proxier.FromConfiguration(configurationOf(t, test.text), "here", test.node)
			require.NoError(t, err)
			assert.Equal(t, test.ipv4, settings.IPv4.LocalDetector)
			assert.Equal(t, test.ipv6, settings.IPv6.LocalDetector)
			if test.warning != "" {
				assert.Contains(t, settings.Warnings, test.warning)
			} else {
				assert.NotContains(t, strings.Join(settings.Warnings, "\n"), unrecognised)
			}
		})
	}
}

func TestFromConfigurationNodePortAddresses(t *testing.T) {
	tests := []struct {
		name    string
		text    string
		node    *v1.Node
		want    []string
		warning string
	}{
		{"primary", "[primary]", nodeWith(nil, "192.168.0.2", "2001:db8::1"), []string{"192.168.0.2/32", "2001:db8::1/128"}, ""},
		{"primary with one family: the other serves everywhere", "[primary]", nodeWith(nil, "192.168.0.2"), []string{"192.168.0.2/32"}, ""},
		{"primary of a node without addresses", "[primary]", nodeWith(nil), nil,
			`nodePortAddresses is not set: node ports are served at every address of the node; consider "primary"`},
		{"words and a range", "[localhost, 10.0.0.0/8, primary]", nodeWith(nil, "192.168.0.2"),
			[]string{"127.0.0.0/8", "::1/128", "10.0.0.0/8", "192.168.0.2/32"}, ""},
		{"all", "[all]", nodeWith(nil, "192.168.0.2"), []string{"0.0.0.0/0", "::/0"}, ""},
		{"ranges of the other family only", `["fd00::/64"]`, nodeWith(nil, "192.168.0.2"), []string{"fd00::/64"},
			"nodePortAddresses has no range of family IPv4: its node ports are served at every address of the node"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := proxier.FromConfiguration(configurationOf(t, "clusterCIDR: 10.0.0.0/8\nnodePortAddresses: "+test.text), "here",
				test.node)
			require.NoError(t, err)
			assert.Equal(t, prefixes(test.want...), settings.IPv4.NodePortAddresses)
			assert.Equal(t, prefixes(test.want...), settings.IPv6.NodePortAddresses)
			if test.warning != "" {
				assert.Contains(t, settings.Warnings, test.warning)
			}
		})
	}
}

func TestFromConfigurationWarnsOfOpenNodePorts(t *testing.T) {
	const everywhere = "its node ports are served at every address of the node"
	tests := []struct {
		name   string
		text   string
		pods   string // of the cluster
		node   *v1.Node
		family string // that has no range, "" if there is no warning
	}{
		{"one family", "[192.168.0.0/24]", "10.0.0.0/8", nodeWith(nil, "192.168.0.2"), ""},
		{"a cluster of both families", "[192.168.0.0/24]", "10.0.0.0/8,fd00::/56", nodeWith(nil, "192.168.0.2"), "IPv6"},
		{"a cluster of both families, IPv6 node", `["2001:db8::/64"]`, "10.0.0.0/8,fd00::/56", nodeWith(nil, "2001:db8::1"), "IPv4"},
		{"a node of both families", "[192.168.0.0/24]", "10.0.0.0/8", nodeWith([]string{"10.1.0.0/24", "fd00:1::/64"}, "192.168.0.2"), "IPv6"},
		{"ranges of both families", `[192.168.0.0/24, "2001:db8::/64"]`, "10.0.0.0/8,fd00::/56", nodeWith(nil, "192.168.0.2"), ""},
		{"ranges of the other family only", `["2001:db8::/64"]`, "10.0.0.0/8,fd00::/56", nodeWith(nil, "192.168.0.2"), "IPv4"},
		{"primary, both addresses are known", "[primary]", "10.0.0.0/8,fd00::/56", nodeWith(nil, "192.168.0.2", "2001:db8::1"), ""},
		{"primary, one address is known", "[primary]", "10.0.0.0/8,fd00::/56", nodeWith(nil, "192.168.0.2"), "IPv6"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := proxier.FromConfiguration(configurationOf(t, "clusterCIDR: "+test.pods+"\nnodePortAddresses: "+test.text), "here",
				test.node)
			require.NoError(t, err)
			if test.family == "" {
				assert.NotContains(t, strings.Join(settings.Warnings, "\n"), everywhere)
				return
			}
			assert.Equal(t, []string{"nodePortAddresses has no range of family " + test.family + ": " + everywhere}, settings.Warnings)
		})
	}
}

// network has addresses.
type network []netip.Addr

func (n network) NodeAddresses() ([]netip.Addr, error) { return n, nil }

// Each family takes its own ranges only.
func TestFromConfigurationSplitsNodePortAddresses(t *testing.T) {
	here := network{addr("127.0.0.1"), addr("1.2.3.4"), addr("192.168.0.2"), addr("::1"), addr("2001:db8::1"), addr("fd00::2")}
	const all = "every address"
	tests := []struct {
		name, text, ipv4, ipv6 string
		localhost              bool
	}{
		{"IPv6 everywhere, an IPv4 range", `["::/0", 1.2.3.0/24]`, "[1.2.3.4]", all, false},
		{"IPv4 everywhere, an IPv6 range", `[0.0.0.0/0, "2001:db8::/64"]`, all, "[2001:db8::1]", true},
		{"IPv6 loopback and an IPv4 range", `["::1/128", 1.2.3.0/24]`, "[1.2.3.4]", "[]", false},
		{"IPv6 only", `["::/0"]`, all, all, true},
		{"IPv4 loopback beside IPv6", `[127.0.0.0/8, "fd00::/64"]`, "[127.0.0.1]", "[fd00::2]", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := proxier.FromConfiguration(configurationOf(t, "nodePortAddresses: "+test.text), "here", nodeWith(nil, "192.168.0.2"))
			require.NoError(t, err)
			listeners := func(config proxier.Config) string {
				config.Network = here
				addresses := config.NodePortListeners()
				if addresses == nil {
					return all
				}
				found, err := addresses()
				require.NoError(t, err)
				return fmt.Sprint(found)
			}
			assert.Equal(t, test.ipv4, listeners(settings.IPv4))
			assert.Equal(t, test.ipv6, listeners(settings.IPv6))
			assert.Equal(t, test.localhost, settings.IPv4.ServesLocalhostNodePorts())
			assert.False(t, settings.IPv6.ServesLocalhostNodePorts())
		})
	}
}

func TestNodePortListenersWithoutTheNodesAddresses(t *testing.T) {
	config, host := testConfig(v1.IPv4Protocol)
	config.NodePortAddresses = prefixes("192.168.0.0/16")
	host.addresses, host.noNetwork = addresses("192.168.0.2"), errFault
	found, err := config.NodePortListeners()()
	require.ErrorIs(t, err, errFault)
	assert.Empty(t, found)
}

func TestFromConfigurationWarnsOfANodeWithoutAddress(t *testing.T) {
	const warning = "the node's address is not known and taken to be loopback; bindAddress can give it"
	tests := []struct {
		name, bindAddress string
		node              *v1.Node
		warned            bool
	}{
		{"no Node object", "", nil, true},
		{"a Node without addresses", "", nodeWith(nil), true},
		{"a Node", "", nodeWith(nil, "192.168.0.2"), false},
		{"bind address", "192.168.0.9", nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			settings, err := proxier.FromConfiguration(&kubeproxy.KubeProxyConfiguration{BindAddress: test.bindAddress}, "here", test.node)
			require.NoError(t, err)
			assert.Equal(t, test.warned, slices.Contains(settings.Warnings, warning), settings.Warnings)
		})
	}
}

func TestFromConfigurationRefuses(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string
	}{
		{"mode ipvs", "mode: ipvs", `KubeProxyConfiguration.mode: Invalid value: "ipvs": not supported: iptables and nftables are`},
		{"mode kernelspace", "mode: kernelspace", "not supported: iptables and nftables are"},
		{"unknown mode", "mode: userspace", "unknown; must be iptables, nftables or empty"},
		{"bit in mode nftables", "{mode: nftables, nftables: {masqueradeBit: 32}}", "KubeProxyConfiguration.nftables.masqueradeBit"},
		{"period in mode nftables", "{mode: nftables, nftables: {minSyncPeriod: 31s}}", "KubeProxyConfiguration.nftables.minSyncPeriod"},
		{"feature gates", "featureGates: {Foo: true}",
			`KubeProxyConfiguration.featureGates: Invalid value: {"Foo":true}: unrecognized feature gate: Foo`},
		{"hidden metrics", `showHiddenMetricsForVersion: "1.35"`, `KubeProxyConfiguration.showHiddenMetricsForVersion: Invalid value: ` +
			`"1.35": not supported`},
		{"mark bit", "iptables: {masqueradeBit: 32}", "KubeProxyConfiguration.iptables.masqueradeBit: Invalid value: 32: must be 0 to 31"},
		{"negative mark bit", "iptables: {masqueradeBit: -1}", "must be 0 to 31"},
		{"negative sync period", "iptables: {syncPeriod: -1s}", "iptables.syncPeriod: Invalid value: \"-1s\": must be greater than 0"},
		{"negative minimum sync period", "iptables: {minSyncPeriod: -1s}", "iptables.minSyncPeriod: Invalid value: \"-1s\": must not be " +
			"negative"},
		{"minimum above sync period", "iptables: {minSyncPeriod: 31s}", "must not be greater than syncPeriod"},
		{"config sync period", "configSyncPeriod: -1s", "configSyncPeriod: Invalid value: \"-1s\": must be greater than 0"},
		{"oom score", "oomScoreAdj: 1001", "oomScoreAdj: Invalid value: 1001: must be -1000 to 1000"},
		{"conntrack count", "conntrack: {min: -1}", "conntrack.min: Invalid value: -1: must not be negative"},
		{"conntrack timeout", "conntrack: {udpTimeout: -1s}", "conntrack.udpTimeout: Invalid value: \"-1s\": must not be negative"},
		{"local mode", "detectLocalMode: Guess", `detectLocalMode: Unsupported value: "Guess"`},
		{"bridge without name", "detectLocalMode: BridgeInterface", "detectLocal.bridgeInterface: Required value"},
		{"prefix without name", "detectLocalMode: InterfaceNamePrefix", "detectLocal.interfaceNamePrefix: Required value"},
		{"cluster range that is none", "clusterCIDR: 10.0.0.0", `clusterCIDR: Invalid value: "10.0.0.0"`},
		{"blank behind the comma", "clusterCIDR: 10.0.0.0/8, fd00::/56", `clusterCIDR: Invalid value: " fd00::/56"`},
		{"two cluster ranges of one family", "clusterCIDR: 10.0.0.0/8,11.0.0.0/8", "must be one range, or one of each family"},
		{"three cluster ranges", "clusterCIDR: 10.0.0.0/8,11.0.0.0/8,fd00::/56", "must be one range, or one of each family"},
		{"node port range that is none", "nodePortAddresses: [10.0.0.1]", `nodePortAddresses[0]: Invalid value: "10.0.0.1"`},
		{"a word that stands for nothing", "nodePortAddresses: [10.0.0.0/8, secondary]", `nodePortAddresses[1]: Invalid value: "secondary": `},
		{"bind address", "bindAddress: here", `bindAddress: Invalid value: "here": must be an IP address`},
		{"health address", "healthzBindAddress: here:10256", `healthzBindAddress: Invalid value: "here:10256"`},
		{"health address without end", "healthzBindAddress: '[::'", `healthzBindAddress: Invalid value: "[::"`},
		{"cluster range that is IPv4 in IPv6", "clusterCIDR: ::ffff:10.0.0.0/104", "write it as IPv4"},
		{"metrics port", "metricsBindAddress: 127.0.0.1:0", `metricsBindAddress: Invalid value: "127.0.0.1:0"`},
		{"no node name", `hostnameOverride: " "`, "hostnameOverride: the node's name is empty: give it with --hostname-override"},
		{"another node", "hostnameOverride: there", `hostnameOverride: this is node "there", but the Node object is of "here"`},
		{"node without pod ranges", "detectLocalMode: NodeCIDR", `detectLocalMode: NodeCIDR needs spec.podCIDRs of Node "here"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := proxier.FromConfiguration(configurationOf(t, test.text), "here", nodeWith(nil, "192.168.0.2"))
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := proxier.FromConfiguration(configurationOf(t, "detectLocalMode: NodeCIDR"), "here", nodeWith([]string{"fd00::/64"},
		"192.168.0.2"))
	require.EqualError(t, err, `KubeProxyConfiguration: detectLocalMode: NodeCIDR needs a range of family IPv4 in spec.podCIDRs of Node `+
		`"here"`)
	for _, address := range []string{"0.0.0.0", "0.0.0.0:10256", "[::]:10256", "::"} {
		_, err := proxier.FromConfiguration(&kubeproxy.KubeProxyConfiguration{HealthzBindAddress: address}, "here", nil)
		require.NoError(t, err, address)
	}
}

func TestFromConfigurationFeatureGates(t *testing.T) {
	object := nodeWith(nil, "192.168.0.2")
	for about, row := range map[string]struct {
		gates   map[string]bool
		ignores bool
		warning string
	}{
		"none":         {nil, false, ""},
		"external IPs": {map[string]bool{"AllowServiceExternalIPs": false}, true, ""},
		"without meaning": {map[string]bool{"WinOverlay": true, "ComponentFlagz": false}, false,
			"these feature gates change nothing here: ComponentFlagz, WinOverlay"},
	} {
		settings, err := proxier.FromConfiguration(&kubeproxy.KubeProxyConfiguration{FeatureGates: row.gates}, "here", object)
		require.NoError(t, err, about)
		assert.Equal(t, row.ignores, settings.IPv4.IgnoreExternalIPs, about)
		assert.Equal(t, row.ignores, settings.IPv6.IgnoreExternalIPs, about)
		assert.Equal(t, row.warning != "", slices.Contains(settings.Warnings, row.warning), "%s: %q", about, settings.Warnings)
	}
}
