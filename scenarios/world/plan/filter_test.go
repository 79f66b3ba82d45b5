package plan

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// TestFilterOf reads what rules of others let pass, and says where it cannot tell.
func TestFilterOf(t *testing.T) {
	const established = "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"
	pods := netip.MustParsePrefix("10.244.0.0/16")
	for _, row := range []struct {
		name, save string
		want       oracle.Filter
		unknown    bool
	}{
		{name: "no policy", save: ":FORWARD ACCEPT [0:0]\n-A FORWARD -s 10.244.0.0/16 -j ACCEPT\n"},
		{name: "another table", save: "COMMIT\n*mangle\n:FORWARD DROP [0:0]\n"},
		{name: "nothing is forwarded", save: ":FORWARD DROP [0:0]\n", want: oracle.Filter{Forward: []oracle.Pass{known}}},
		{
			name: "a chain of pods",
			save: ":FORWARD DROP [0:0]\n:PODS - [0:0]\n-A FORWARD -m comment --comment \"pods, all\" -j PODS\n-A PODS -d 10.244.0.0/16 -j ACCEPT\n" +
				"-A PODS -j RETURN\n",
			want: oracle.Filter{Forward: []oracle.Pass{{To: pods}, known}},
		},
		{name: "a proxy's own", save: ":FORWARD DROP [0:0]\n:KUBE-SERVICES - [0:0]\n-A FORWARD -m conntrack --ctstate NEW -j KUBE-SERVICES\n",
			want: oracle.Filter{Forward: []oracle.Pass{known}}},
		{
			name: "what is translated, and what is known",
			save: ":FORWARD DROP [0:0]\n-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT\n",
			want: oracle.Filter{Forward: []oracle.Pass{{Translated: true}, known, known}, Replies: true},
		},
		{
			name: "what is translated", save: ":FORWARD DROP [0:0]\n-A FORWARD -m conntrack --ctstate DNAT -j ACCEPT\n",
			want: oracle.Filter{Forward: []oracle.Pass{{Translated: true}, known}},
		},
		{name: "what is translated, to pods, or known", save: ":FORWARD DROP [0:0]\n-A FORWARD -d 10.244.0.0/16 -m conntrack --ctstate " +
			"RELATED,ESTABLISHED,DNAT -j ACCEPT\n", unknown: true},
		{
			name: "a few ports", save: ":INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n" + established +
				"-A INPUT -s 10.244.0.0/16 -p tcp -m tcp --dport 22 -j ACCEPT\n-A INPUT -p icmp -j ACCEPT\n",
			want: oracle.Filter{Input: []oracle.Pass{{Loopback: true}, known, {From: pods, Protocol: corev1.ProtocolTCP, Port: 22},
				{Protocol: oracle.ICMP}}},
		},
		{name: "no connection is known", save: ":INPUT DROP [0:0]\n", unknown: true},
		{name: "what is sent", save: ":OUTPUT DROP [0:0]\n", unknown: true},
		{name: "a rule that refuses the rest", save: "-A FORWARD -s 10.244.0.0/16 -j ACCEPT\n-A FORWARD -j REJECT\n", unknown: true},
		{
			name: "a chain that drops", unknown: true,
			save: ":ZONES - [0:0]\n:ZONE - [0:0]\n-A INPUT -j ZONES\n-A ZONES -m comment --comment \"all of it\" -g ZONE\n-A ZONE -p tcp -j DROP\n",
		},
		{name: "a chain of a service proxy",
			save: ":KUBE-SERVICES - [0:0]\n-A FORWARD -j KUBE-SERVICES\n-A KUBE-SERVICES -d 172.30.0.9/32 -j REJECT\n"},
		{name: "a chain that nobody comes to", save: ":ZONE - [0:0]\n-A ZONE -j DROP\n"},
		{name: "a rule that drops, with a comment of an escaped quote and a target", unknown: true,
			save: "-A FORWARD -m comment --comment \"was \\\" -j ACCEPT\" -s 10.9.0.0/16 -j DROP\n"},
		{name: "rules that no tool takes", save: "-A FORWARD -j NOWHERE\n", unknown: true},
		{name: "rules of the kubelet", save: ":KUBE-FIREWALL - [0:0]\n-A INPUT -j KUBE-FIREWALL\n-A KUBE-FIREWALL -j DROP\n"},
		{name: "rules for policies", save: ":KUBE-ROUTER-INPUT - [0:0]\n-A INPUT -j KUBE-ROUTER-INPUT\n-A KUBE-ROUTER-INPUT -j DROP\n",
			unknown: true},
		{name: "another match", save: ":FORWARD DROP [0:0]\n-A FORWARD -m mark --mark 0x1 -j ACCEPT\n", unknown: true},
		{name: "another target", save: ":FORWARD DROP [0:0]\n-A FORWARD -j REJECT\n", unknown: true},
		{name: "a jump of some", save: ":FORWARD DROP [0:0]\n:PODS - [0:0]\n-A FORWARD -s 10.244.0.0/16 -j PODS\n", unknown: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			save := []scenarios.Preload{{Save: "*filter\n" + row.save + "COMMIT\n", Nodes: []string{"node1"}}}
			f, ok := filterOf(save, "node1", scenarios.FamilyIPv4)
			assert.Equal(t, !row.unknown, ok)
			if ok {
				assert.Equal(t, row.want, f)
			}
			f, ok = filterOf(save, "node2", scenarios.FamilyIPv4)
			assert.True(t, ok)
			assert.Zero(t, f, "they are not on this node")
			f, ok = filterOf(save, "node1", scenarios.FamilyIPv6)
			assert.True(t, ok)
			assert.Zero(t, f, "they are not of this family")
		})
	}
}

// TestFilterOfNFT does the same with tables of nftables.
func TestFilterOfNFT(t *testing.T) {
	const hook = "type filter hook forward priority 10; policy drop; "
	pods := netip.MustParsePrefix("10.244.0.0/16")
	for _, row := range []struct {
		name, chains string
		want         oracle.Filter
		unknown      bool
	}{
		{name: "nothing is dropped", chains: "chain a { type filter hook forward priority 0; policy accept; tcp dport 9 counter accept; }"},
		{name: "nothing is forwarded", chains: "chain a { " + hook + "}", want: oracle.Filter{Forward: []oracle.Pass{known}}},
		{
			name: "pods and what is known", chains: "chain pods { ip saddr 10.244.0.0/16 accept; return; }\nchain a { " + hook +
				"ct state established,related accept; jump pods; }",
			want: oracle.Filter{Forward: []oracle.Pass{known, {From: pods}, known}, Replies: true},
		},
		{
			name: "a few ports", chains: "chain a { type filter hook input priority 1; policy drop; iifname \"lo\" accept; " +
				"ct state related,established accept; tcp dport 22 accept; meta l4proto icmp accept; }",
			want: oracle.Filter{Input: []oracle.Pass{{Loopback: true}, known, {Protocol: corev1.ProtocolTCP, Port: 22}, {Protocol: oracle.ICMP}}},
		},
		{name: "before kube-proxy's rules", chains: "chain a { type filter hook forward priority 0; policy drop; }", unknown: true},
		{name: "two chains at a hook", chains: "chain a { " + hook + "}\nchain b { " + hook + "}", unknown: true},
		{
			name: "what is translated", chains: "chain a { " + hook + "ct status dnat accept; }",
			want: oracle.Filter{Forward: []oracle.Pass{{Translated: true}, known}},
		},
		{
			name: "what is translated, to pods", chains: "chain a { " + hook + "ip daddr 10.244.0.0/16 ct status dnat accept; }",
			want: oracle.Filter{Forward: []oracle.Pass{{Translated: true, To: pods}, known}},
		},
		{name: "what is translated, if new", chains: "chain a { " + hook + "ct state new ct status dnat accept; }", unknown: true},
		{name: "what is not translated", chains: "chain a { " + hook + "ct status ! dnat accept; }", unknown: true},
		{name: "what is translated at its source", chains: "chain a { " + hook + "ct status snat accept; }", unknown: true},
		{name: "a rule that drops", chains: "chain a { type filter hook forward priority 10; tcp dport 9 drop; }", unknown: true},
		{name: "a map of verdicts", chains: "chain a { type filter hook forward priority 10; tcp dport vmap { 9 : drop }; }", unknown: true},
		{name: "another hook that drops", chains: "chain a { type filter hook prerouting priority -300; tcp dport 9 drop; }", unknown: true},
		{name: "another hook that translates", chains: "chain a { type nat hook prerouting priority -100; tcp dport 9 dnat to 10.0.0.1; }",
			unknown: true},
		{name: "another hook that counts", chains: "chain a { type nat hook postrouting priority 90; counter return; }"},
		{name: "a chain that nobody comes to", chains: "chain a { drop; }"},
		{name: "rules that nft does not take", chains: "chain a { jump nowhere; }", unknown: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			nft := []scenarios.Preload{{NFT: "table ip other {\n" + row.chains + "\n}\n", Nodes: []string{"node1"}}}
			f, ok := filterOf(nft, "node1", scenarios.FamilyIPv4)
			assert.Equal(t, !row.unknown, ok)
			if ok {
				assert.Equal(t, row.want, f)
			}
			f, ok = filterOf(nft, "node2", scenarios.FamilyIPv4)
			assert.True(t, ok)
			assert.Zero(t, f, "they are not on this node")
		})
	}
	both := []scenarios.Preload{{NFT: "table ip other {\nchain a { " + hook + "}\n}\n"}, {Save: "*filter\n:FORWARD DROP [0:0]\nCOMMIT\n"}}
	_, ok := filterOf(both, "node1", scenarios.FamilyIPv4)
	assert.False(t, ok, "two tables stop packets")
	_, ok = filterOf(both, "node1", scenarios.FamilyIPv6)
	assert.True(t, ok)
	left := []scenarios.Preload{{NFT: "table ip kube-proxy {\nchain a { " + hook + "}\n}\n"}}
	f, ok := filterOf(left, "node1", scenarios.FamilyIPv4)
	assert.True(t, ok)
	assert.Zero(t, f, "what a kube-proxy has left")
}
