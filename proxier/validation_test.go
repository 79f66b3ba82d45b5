package proxier_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/proxier"
)

func TestDefaultsOfEveryField(t *testing.T) {
	const common = `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {burst: 10, contentType: application/vnd.kubernetes.protobuf, qps: 5}
configSyncPeriod: 15m0s
conntrack: {maxPerCore: 32768, min: 131072, tcpCloseWaitTimeout: 1h0m0s, tcpEstablishedTimeout: 24h0m0s}
detectLocalMode: ClusterCIDR
iptables: {localhostNodePorts: true, masqueradeBit: 14, minSyncPeriod: 1s, syncPeriod: 30s}
mode: iptables
nftables: {masqueradeBit: 14, minSyncPeriod: 1s, syncPeriod: 30s}
oomScoreAdj: -999
`
	tests := []struct{ bind, want string }{
		{"", "bindAddress: 0.0.0.0\nhealthzBindAddress: 0.0.0.0:10256\nmetricsBindAddress: 127.0.0.1:10249\n"},
		{"192.168.0.2", "bindAddress: 192.168.0.2\nhealthzBindAddress: 0.0.0.0:10256\nmetricsBindAddress: 127.0.0.1:10249\n"},
		{"2001:db8::1", "bindAddress: 2001:db8::1\nhealthzBindAddress: '[::]:10256'\nmetricsBindAddress: '[::1]:10249'\n"},
	}
	for _, test := range tests {
		got := proxier.WithDefaults(&kubeproxy.KubeProxyConfiguration{BindAddress: test.bind})
		assert.Equal(t, configurationOf(t, common+test.want), got, test.bind)
	}
}

func TestListenAddressesWithoutPort(t *testing.T) {
	got := proxier.WithDefaults(&kubeproxy.KubeProxyConfiguration{HealthzBindAddress: "192.168.0.2", MetricsBindAddress: "::1"})
	assert.Equal(t, "192.168.0.2:10256", got.HealthzBindAddress)
	assert.Equal(t, "[::1]:10249", got.MetricsBindAddress)
	got = proxier.WithDefaults(&kubeproxy.KubeProxyConfiguration{HealthzBindAddress: "192.168.0.2:1", MetricsBindAddress: "[::]:65535"})
	assert.Equal(t, "192.168.0.2:1", got.HealthzBindAddress)
	assert.Equal(t, "[::]:65535", got.MetricsBindAddress)
	require.NoError(t, proxier.Validate(got))
}

func TestValidateAtTheBounds(t *testing.T) {
	tests := []struct {
		name, good, bad string
	}{
		{"mark bit", "iptables: {masqueradeBit: 31}", "iptables: {masqueradeBit: 32}"},
		{"lowest mark bit", "iptables: {masqueradeBit: 0}", "iptables: {masqueradeBit: -1}"},
		{"sync period", "iptables: {syncPeriod: 1ns, minSyncPeriod: 1ns}", "iptables: {syncPeriod: -1ns, minSyncPeriod: -1ns}"},
		{"minimum sync period", "iptables: {minSyncPeriod: 30s}", "iptables: {minSyncPeriod: 30.000000001s}"},
		{"minimum is not negative", "iptables: {minSyncPeriod: 1ns}", "iptables: {minSyncPeriod: -1ns}"},
		{"mark bit of mode nftables", "{mode: nftables, nftables: {masqueradeBit: 31}}", "{mode: nftables, nftables: {masqueradeBit: 32}}"},
		{"mark bit of the other mode", "{mode: nftables, iptables: {masqueradeBit: 32}}", "{mode: iptables, iptables: {masqueradeBit: 32}}"},
		{"config sync period", "configSyncPeriod: 1ns", "configSyncPeriod: -1ns"},
		{"low oom score", "oomScoreAdj: -1000", "oomScoreAdj: -1001"},
		{"high oom score", "oomScoreAdj: 1000", "oomScoreAdj: 1001"},
		{"conntrack count", "conntrack: {min: 0, maxPerCore: 0}", "conntrack: {maxPerCore: -1}"},
		{"conntrack timeout", "conntrack: {tcpCloseWaitTimeout: 0s}", "conntrack: {tcpCloseWaitTimeout: -1ns}"},
		{"one range of each family", "clusterCIDR: 'fd00::/56,10.0.0.0/8'", "clusterCIDR: 'fd00::/56,fd01::/56'"},
		{"the last range", "clusterCIDR: 'fd00::/56,10.0.0.0/8'", "clusterCIDR: 'here,10.0.0.0/8'"},
		{"port", "healthzBindAddress: '127.0.0.1:65535'", "healthzBindAddress: '127.0.0.1:65536'"},
		{"lowest port", "metricsBindAddress: '127.0.0.1:1'", "metricsBindAddress: '127.0.0.1:0'"},
		{"decimal port", "metricsBindAddress: '127.0.0.1:010'", "metricsBindAddress: '127.0.0.1:0a'"},
		{"address of a port", "metricsBindAddress: '[::1]:10249'", "metricsBindAddress: 'here:10249'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, proxier.Validate(proxier.WithDefaults(configurationOf(t, test.good))))
			require.Error(t, proxier.Validate(proxier.WithDefaults(configurationOf(t, test.bad))))
		})
	}
}

// Validate takes a configuration as it is too: without addresses to listen at nothing is wrong with it.
func TestValidateWithoutDefaults(t *testing.T) {
	c := proxier.WithDefaults(&kubeproxy.KubeProxyConfiguration{})
	c.HealthzBindAddress, c.MetricsBindAddress = "", "::1"
	require.NoError(t, proxier.Validate(c))
	c.IPTables.SyncPeriod.Duration = 0
	require.ErrorContains(t, proxier.Validate(c), "must be greater than 0")
	c = proxier.WithDefaults(&kubeproxy.KubeProxyConfiguration{})
	c.ConfigSyncPeriod.Duration, c.IPTables.MinSyncPeriod.Duration = 0, 0
	require.NoError(t, proxier.Validate(c))
}

// Every mistake is told, not the first one only.
func TestValidateTellsEveryMistake(t *testing.T) {
	c := proxier.WithDefaults(configurationOf(t, "clusterCIDR: 'here,there,10.0.0.0/8'\nnodePortAddresses: [primary, nowhere, nothing]"))
	err := proxier.Validate(c)
	for _, text := range []string{`"here"`, `"there"`, `"primary"`, `"nowhere"`, `"nothing"`} {
		require.ErrorContains(t, err, text)
	}
	assert.NotContains(t, err.Error(), "must be one range")
}
