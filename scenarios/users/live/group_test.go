package live

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// oneScreen is as many lines as a person sees at once.
const oneScreen = 40

func screenOf(t *testing.T, r *Report) string {
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, false))
	assert.LessOrEqual(t, strings.Count(b.String(), "\n"), oneScreen, b.String())
	return b.String()
}

// A policy of DROP alone, on a cluster that is sound otherwise, is one thing that is wrong, whoever is to blame for it.
func TestAPolicyThatDropsIsNamed(t *testing.T) {
	for _, tc := range []struct{ table, chain string }{
		{"filter", "FORWARD"}, {"filter", "INPUT"}, {"filter", "OUTPUT"}, {"mangle", "FORWARD"}, {"mangle", "POSTROUTING"}, {"raw", "PREROUTING"},
	} {
		t.Run(tc.table+" "+tc.chain, func(t *testing.T) {
			cluster := small(t, "legacy", dumpNodes...)
			cluster.AllPackets = true
			if tc.table == "raw" {
				for _, taken := range cluster.Snapshots {
					edit(t, taken, netfilter.IPv4, "*filter\n", "*raw\n:PREROUTING DROP [0:0]\nCOMMIT\n*filter\n")
				}
			} else {
				policy(tc.table, tc.chain)(t, cluster)
			}
			report := examined(t, cluster)
			text := screenOf(t, report)
			require.Len(t, report.Findings, 1, text)
			f := &report.Findings[0]
			assert.Equal(t, cause.Policy, f.Code)
			assert.Equal(t, "iptables -t "+tc.table+" -P "+tc.chain+" DROP", f.What)
			assert.Equal(t, dumpNodes, f.Nodes)
			assert.NotEmpty(t, f.Services)
			assert.NotEmpty(t, f.Remedy)
			assert.Regexp(t, "^1 thing is wrong: the policy DROP of "+tc.table+" "+tc.chain+` drops the (packet|reply) on 3 nodes \(CW101\): `, text)
		})
	}
}

// One changed rule that all services share is one thing.
func TestAChangedSharedRuleIsOneThing(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	for _, taken := range cluster.Snapshots {
		edit(t, taken, netfilter.IPv4, "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000", "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x8/0x8")
	}
	report := examined(t, cluster)
	text := screenOf(t, report)
	require.Len(t, report.Findings, 1, text)
	f := &report.Findings[0]
	assert.Equal(t, cause.RuleMissing, f.Code)
	assert.Len(t, f.Missing, 3)
	assert.Len(t, f.Foreign, 3)
	assert.Greater(t, len(f.Services), 3)
}

// A kube-proxy with another clusterCIDR on a node has written other rules: they are there, and those of the configuration are not.
func TestRulesOfAnotherConfigurationAreOneThing(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	taken := cluster.Snapshots[1]
	taken.IPTables = slices.Clone(taken.IPTables)
	for i := range taken.IPTables {
		taken.IPTables[i].Save = strings.ReplaceAll(taken.IPTables[i].Save, "! -s 10.244.0.0/16", "! -s 10.245.0.0/16")
	}
	report := examined(t, cluster)
	text := screenOf(t, report)
	require.Len(t, report.Findings, 1, text)
	assert.Equal(t, cause.RuleMissing, report.Findings[0].Code)
	assert.Regexp(t, `(\d+) rules of kube-proxy's are missing, and (\d+) that it would not write are there, those of \d+ services`, text)
}

// A node without any rule of kube-proxy is one thing.
func TestANodeWithoutRulesOfKubeProxyIsOneThing(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	cluster.AllPackets = true
	cluster.Snapshots[1].IPTables = nil
	report := examined(t, cluster)
	text := screenOf(t, report)
	require.Len(t, report.Findings, 1, text)
	assert.Equal(t, cause.NoProxyRules, report.Findings[0].Code)
	assert.Equal(t, []string{"demo-worker"}, report.Findings[0].Nodes)
}

// runIPVS has a node look as kube-proxy in mode ipvs leaves it.
func runIPVS(c *Cluster, i int) {
	device := snapshot.Device{Name: "kube-ipvs0", Kind: "dummy", Index: 900, MTU: 1500}
	c.Snapshots[i].IPTables, c.Snapshots[i].Routes = nil, slices.Clone(c.Snapshots[i].Routes)
	for _, service := range c.services() {
		for _, text := range service.Spec.ClusterIPs {
			if a, ok := parse(text); ok {
				own := netip.PrefixFrom(a, a.BitLen())
				device.Addresses = append(device.Addresses, snapshot.Address{Prefix: own, Scope: packetsim.ScopeGlobal})
				c.Snapshots[i].Routes = append(c.Snapshots[i].Routes, snapshot.Route{Dst: own, Type: packetsim.RouteLocal, Dev: device.Name,
					Table: packetsim.TableLocal})
			}
		}
	}
	c.Snapshots[i].Devices = append(slices.Clone(c.Snapshots[i].Devices), device)
}

// A node with another service proxy is no node whose rules are missing.
func TestAnotherServiceProxyIsNamed(t *testing.T) {
	other := func(c *Cluster, i int) {
		c.Snapshots[i].IPTables = nil
		c.Snapshots[i].NFTables = []snapshot.NFTable{
			{Family: "ip", Name: "kube-proxy", Chains: []snapshot.NFChain{{Name: "nat-prerouting", Hook: "prerouting", Priority: -100}}},
		}
	}
	t.Run("one node", func(t *testing.T) {
		cluster := small(t, "legacy", dumpNodes...)
		other(cluster, 1)
		report := examined(t, cluster)
		text := screenOf(t, report)
		assert.Empty(t, report.Findings, text)
		assert.False(t, report.Silent())
		assert.Regexp(t, "^nothing is wrong: [0-9]+ connections judged on 2 nodes; services by demo-worker were not judged, "+
			"which runs kube-proxy in mode nftables\n", text)
		assert.Contains(t, text, "which demo-worker decides: it runs kube-proxy in mode nftables\n")
		assert.Contains(t, text, "demo-worker: runs kube-proxy in mode nftables (table ip kube-proxy of nftables)")
		assert.Contains(t, textOf(t, report),
			"note: kube-proxy is configured for mode iptables, and demo-worker runs kube-proxy in mode nftables")
		assert.Equal(t, Proxy{Name: "kube-proxy in mode iptables", Seen: "chain KUBE-SERVICES", Walked: true, Mode: "iptables"},
			report.Nodes[0].Proxy)
	})
	t.Run("a node in mode ipvs, whose device has the addresses of services and is never up", func(t *testing.T) {
		cluster := small(t, "legacy", dumpNodes...)
		runIPVS(cluster, 1)
		report := examined(t, cluster)
		text := screenOf(t, report)
		assert.Empty(t, report.Findings, text)
		assert.Regexp(t, "^nothing is wrong: [0-9]+ connections judged on 2 nodes; services by demo-worker were not judged, "+
			"which runs kube-proxy in mode ipvs\n", text)
	})
	t.Run("all nodes", func(t *testing.T) {
		cluster := small(t, "legacy", dumpNodes...)
		for i := range dumpNodes {
			other(cluster, i)
		}
		report := examined(t, cluster)
		text := screenOf(t, report)
		assert.Empty(t, report.Findings, text)
		assert.True(t, report.Silent())
		assert.True(t, strings.HasPrefix(text, "nothing can be said of services: "), text)
	})
	t.Run("what pods send one another is judged", func(t *testing.T) {
		cluster := small(t, "legacy", dumpNodes...)
		cluster.AllPackets = true
		for i := range dumpNodes {
			other(cluster, i)
			cluster.Snapshots[i].IPTables = []snapshot.Rules{
				{Dialect: "nft", Family: netfilter.IPv4, Save: "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"},
			}
		}
		report := examined(t, cluster)
		text := screenOf(t, report)
		require.Len(t, report.Findings, 1, text)
		assert.Equal(t, cause.Policy, report.Findings[0].Code)
		assert.Empty(t, report.Findings[0].Services)
	})
}

// A rule of others that takes packets before kube-proxy's rules is named, and no endpoint is said to be stale.
func TestARuleThatTakesPacketsIsNamed(t *testing.T) {
	for _, tc := range []struct{ name, rule string }{
		{"redirected", "-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 15001"},
		{"to another pod", "-A PREROUTING -d 10.96.125.22/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.1.2:9999"},
		{"let by", "-A PREROUTING -d 10.96.125.22/32 -p tcp -m tcp --dport 80 -j ACCEPT"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := small(t, "legacy", dumpNodes...)
			edit(t, cluster.Snapshots[1], netfilter.IPv4, "-A PREROUTING -m comment", tc.rule+"\n[0:0] -A PREROUTING -m comment")
			report := examined(t, cluster)
			text := screenOf(t, report)
			require.Len(t, report.Findings, 1, text)
			f := &report.Findings[0]
			assert.Equal(t, cause.ForeignNAT, f.Code, text)
			assert.Equal(t, "iptables -t nat "+tc.rule, f.What)
			assert.Equal(t, []string{"demo-worker"}, f.Nodes)
			assert.Contains(t, f.Services, "shop/web")
			require.Len(t, f.Foreign, 1, text)
			assert.Equal(t, tc.rule, f.Foreign[0].Text)
		})
	}
}

// What a native table of nftables may stop is undecided: not wrong, and not right.
func TestWhatIsNotWalkedIsUndecided(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	cluster.Snapshots[1].NFTables = []snapshot.NFTable{
		{Family: "inet", Name: "fw", Chains: []snapshot.NFChain{{Name: "forward", Hook: "forward", Priority: 0}}},
		{Family: "arp", Name: "nobody", Chains: []snapshot.NFChain{{Name: "in", Hook: "input", Priority: 0}}},
	}
	report := examined(t, cluster)
	text := screenOf(t, report)
	assert.Empty(t, report.Findings, text)
	assert.Regexp(t, "^undecided: unless table inet fw .*, nothing is wrong with [0-9]+ connections on 3 nodes\n", text)
	for _, d := range report.Doubts {
		assert.NotContains(t, d.Unless, "nobody", "no packet meets it")
		assert.Less(t, d.Connections, report.Connections, "packets that do not pass the node are not in doubt")
	}
}

// TestARuleThatDropsAndOneThatIsMissingAreTwoThings: the ways that end well after a sync of kube-proxy have nothing to do with the rule
// that drops, and none of kube-proxy's rules that they meet is to blame.
func TestARuleThatDropsAndOneThatIsMissingAreTwoThings(t *testing.T) {
	cluster := small(t, "nft", dumpNodes...)
	cluster.AllPackets = true
	edit(t, cluster.Snapshots[1], netfilter.IPv4, "*filter\n",
		"*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -i eth0 -d 10.244.0.0/16 -j DROP\nCOMMIT\n*filter\n")
	edit(t, cluster.Snapshots[0], netfilter.IPv4,
		`[0:0] -A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> 10.244.1.2:8080" `+
			"-m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-XTJTEC7KOHLCQM25\n", "")
	report := examined(t, cluster)
	text := screenOf(t, report)
	var codes []cause.Code
	for i := range report.Findings {
		codes = append(codes, report.Findings[i].Code)
	}
	require.Equal(t, []cause.Code{cause.ForeignDrop, cause.RuleMissing}, codes, text)
	assert.Len(t, report.Findings[1].Missing, 1, text)
}
