package kind

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios"
)

// kindsOwn is the configuration that kind gives kube-proxy in a dual-stack cluster.
func kindsOwn(mode string) *kubeproxyconfig.KubeProxyConfiguration {
	c := &kubeproxyconfig.KubeProxyConfiguration{
		Mode: kubeproxyconfig.ProxyMode(mode), BindAddress: "0.0.0.0", ClusterCIDR: "10.244.0.0/16,fd00:10:244::/56",
	}
	c.IPTables.MinSyncPeriod = metav1.Duration{Duration: time.Second}
	c.Conntrack.MaxPerCore = ptr.To[int32](0)
	c.Conntrack.TCPBeLiberal = mode == modeNFTables
	return c
}

func TestAForeignKubeProxyRunsWhatItIsConfiguredFor(t *testing.T) {
	const liberal = `
- connect: {from: client, to: "tcp 10.244.2.101:80", as: one, expect: {answeredBy: server}}
- flow: {of: one, send: outOfWindow, expect: {endpoints: ["10.244.2.101:80"]}}
`
	for about, row := range map[string]struct {
		scenario string // beside the topology
		mode     string
		change   func(*kubeproxyconfig.KubeProxyConfiguration)
		why      string // part of it; empty: it runs
	}{
		"what is not said is as usual":         {},
		"the range of pods, spelled otherwise": {scenario: "kubeProxy: {clusterCIDR: \"10.244.0.0/20,fd00:10:244::/60\"}"},
		"no detection of pods":                 {scenario: `kubeProxy: {clusterCIDR: ""}`, why: `clusterCIDR ""`},
		"a cluster without detection": {change: func(c *kubeproxyconfig.KubeProxyConfiguration) { c.ClusterCIDR = "" },
			why: `kube-proxy has ""`},
		"another detection": {scenario: "kubeProxy: {detectLocalMode: NodeCIDR}",
			why: `wants detectLocalMode "NodeCIDR", the cluster's own kube-proxy has "ClusterCIDR"`},
		"masqueradeAll": {scenario: "kubeProxy: {iptables: {masqueradeAll: true}}", why: `wants masqueradeAll "true"`},
		"a cluster that masquerades all": {change: func(c *kubeproxyconfig.KubeProxyConfiguration) { c.IPTables.MasqueradeAll = true },
			why: `kube-proxy has "true"`},
		"both masquerade all": {scenario: "kubeProxy: {iptables: {masqueradeAll: true}}",
			change: func(c *kubeproxyconfig.KubeProxyConfiguration) { c.IPTables.MasqueradeAll = true }},
		"masqueradeAll in mode nftables": {scenario: "kubeProxy: {iptables: {masqueradeAll: true}}", mode: modeNFTables,
			why: `wants masqueradeAll "true"`},
		"both in mode nftables": {scenario: "kubeProxy: {iptables: {masqueradeAll: true}}", mode: modeNFTables,
			change: func(c *kubeproxyconfig.KubeProxyConfiguration) { c.NFTables.MasqueradeAll = true }},
		"the usual bit, said": {scenario: "kubeProxy: {iptables: {masqueradeBit: 14}}"},
		"another bit":         {scenario: "kubeProxy: {iptables: {masqueradeBit: 15}}", why: `masqueradeBit "15"`},
		"node ports on some addresses": {scenario: "kubeProxy: {nodePortAddresses: [192.168.0.0/24]}",
			why: "wants nodePortAddresses \"172.18.0.0/16\""},
		"node ports on the primary addresses": {scenario: "kubeProxy: {nodePortAddresses: [primary]}",
			why: `wants nodePortAddresses "primary"`},
		"which is the default of mode nftables": {scenario: "kubeProxy: {nodePortAddresses: [primary]}", mode: modeNFTables},
		"no node ports on localhost": {scenario: "kubeProxy: {iptables: {localhostNodePorts: false}}",
			why: "iptables.localhostNodePorts"},
		"which mode nftables has never":     {scenario: "kubeProxy: {iptables: {localhostNodePorts: false}}", mode: modeNFTables},
		"liberal, where nothing tells":      {mode: modeNFTables},
		"liberal, asked for":                {scenario: "kubeProxy: {conntrack: {tcpBeLiberal: true}}", why: "conntrack.tcpBeLiberal"},
		"liberal, where a packet tells":     {scenario: "steps:" + liberal, mode: modeNFTables, why: "conntrack.tcpBeLiberal"},
		"not liberal, where a packet tells": {scenario: "steps:" + liberal},
		"the usual time, said":              {scenario: "kubeProxy: {conntrack: {tcpEstablishedTimeout: 24h}}"},
		"a time that is another one": {scenario: "kubeProxy: {conntrack: {tcpEstablishedTimeout: 1h}}",
			why: `conntrack.tcpEstablishedTimeout "1h0m0s"`},
		"the sync period":                        {scenario: "kubeProxy: {iptables: {syncPeriod: 5s}}", why: `syncPeriod "5s"`},
		"the least time between syncs, as it is": {scenario: "kubeProxy: {iptables: {minSyncPeriod: 1s}}"},
		"the least time between syncs":           {scenario: "kubeProxy: {iptables: {minSyncPeriod: 3s}}", why: `minSyncPeriod "3s"`},
		"a restart":                              {scenario: "steps: [{restart: true}]", why: "restart: " + leftAsItIs},
		"a change of rules":                      {scenario: "steps: [{fault: {node: node1, run: [ip route flush cache]}}]", why: "fault: "},
		"rules that are there before": {scenario: "iptables: {preload: [{save: \"*filter\\nCOMMIT\\n\"}]}",
			why: "preload: " + leftAsItIs},
	} {
		t.Run(about, func(t *testing.T) {
			text := "name: a\n" + row.scenario + "\ntopology: {ipFamily: dual, pods: [{name: client, node: node1}, {name: server, node: node2}]}\n"
			if !strings.Contains(row.scenario, "steps:") {
				text += "steps: [{sync: true}]\n"
			}
			s, err := scenarios.Read("in.yaml", strings.NewReader(text))
			require.NoError(t, err)
			facts := threeNodes()
			if row.mode != "" {
				facts.Mode = row.mode
			}
			facts.Foreign = kindsOwn(facts.Mode)
			if row.change != nil {
				row.change(facts.Foreign)
			}
			why := unsupported(s, facts)
			if row.why == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, row.why)
		})
	}
}

// TestNodesOfAForeignKubeProxyKeepTheirSettings: one is for a proxy that starts.
func TestNodesOfAForeignKubeProxyKeepTheirSettings(t *testing.T) {
	s, err := scenarios.Read("in.yaml",
		strings.NewReader("name: a\nsteps: [{sync: true}]\ntopology: {nodes: [{sysctls: {net.ipv4.conf.all.rp_filter: \"1\"}}]}\n"))
	require.NoError(t, err)
	facts := threeNodes()
	assert.Empty(t, unsupported(s, facts))
	facts.Foreign = kindsOwn("iptables")
	assert.Contains(t, unsupported(s, facts), "sysctls: ")
}
