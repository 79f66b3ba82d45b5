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
