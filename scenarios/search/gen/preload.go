package gen

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// iptables chooses the tools, and what they hold before kube-proxy starts.
func (u *setup) iptables() {
	tool := netfilter.Legacy
	if u.has.Has(NFTTools) && u.in(2, 3) {
		tool = netfilter.NFT
	}
	u.out.IPTables.Dialects = []netfilter.Dialect{tool}
	for _, family := range u.cluster.families {
		name := scenarios.FamilyIPv4
		if family == corev1.IPv6Protocol {
			name = scenarios.FamilyIPv6
		}
		add := func(save string) {
			p := scenarios.Preload{Family: name, Save: save}
			if u.in(1, 3) {
				p.Nodes = []string{u.cluster.nodes[0].name}
			}
			u.out.IPTables.Preload = append(u.out.IPTables.Preload, p)
		}
		if u.has.Has(Leftovers) {
			add(pick(u.draw, leftovers(family)...))
		}
		if u.has.Has(ForeignRules) {
			add(pick(u.draw, foreign...))
		}
		if u.has.Has(DropPolicies) { // behind what is left over, as a proxier puts its own before it
			add(pick(u.draw, dropPolicies(family)...))
		}
	}
}

// dropPolicies are rules of others that drop what they do not let pass, as Docker, ufw and network plugins make them.
func dropPolicies(family corev1.IPFamily) []string {
	pods, neighbours, ping := "10.244.0.0/16", "192.168.0.0/24", "icmp"
	if family == corev1.IPv6Protocol {
		pods, neighbours, ping = "fd00:10:244::/56", "2001:db8::/64", "ipv6-icmp"
	}
	input := ":INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n" +
		"-A INPUT -p " + ping + " -j ACCEPT\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n"
	return []string{
		"*filter\n:FORWARD DROP [0:0]\nCOMMIT\n",
		"*filter\n:FORWARD DROP [0:0]\n:OTHER-FORWARD - [0:0]\n-A FORWARD -m comment --comment \"other: pods\" -j OTHER-FORWARD\n" +
			"-A OTHER-FORWARD -s " + pods + " -j ACCEPT\n-A OTHER-FORWARD -d " + pods + " -j ACCEPT\nCOMMIT\n",
		"*filter\n" + input + "COMMIT\n",
		"*filter\n:FORWARD DROP [0:0]\n" + input + "-A INPUT -s " + neighbours + " -j ACCEPT\n-A FORWARD -s " + pods + " -j ACCEPT\nCOMMIT\n",
	}
}

// foreign are rules of others, none of which decides about a packet: the last one only if a packet has a mark that was for others.
var foreign = []string{
	"*filter\n:OTHER-FORWARD - [0:0]\n-A FORWARD -m comment --comment \"other: forward\" -j OTHER-FORWARD\n-A OTHER-FORWARD -j RETURN\n" +
		"COMMIT\n",
	"*nat\n:OTHER-PREROUTING - [0:0]\n-A PREROUTING -j OTHER-PREROUTING\n-A OTHER-PREROUTING -p tcp -m tcp --dport 9 -j RETURN\nCOMMIT\n",
	"*mangle\n:KUBE-IPTABLES-HINT - [0:0]\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n*nat\n:KUBE-KUBELET-CANARY - [0:0]\nCOMMIT\n",
	"*filter\n-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\nCOMMIT\n*nat\n:OTHER-POSTROUTING - [0:0]\n-A POSTROUTING -j OTHER-POSTROUTING\n" +
		"COMMIT\n",
	"*mangle\n-A PREROUTING -i lo -m mark ! --mark 0x0 -j DROP\nCOMMIT\n",
}

// leftovers are what kube-proxies of other versions, modes and settings left behind.
func leftovers(family corev1.IPFamily) []string {
	cluster, endpoint := "172.30.0.9/32", "10.244.1.99:80"
	if family == corev1.IPv6Protocol {
		cluster, endpoint = "fd00:30::9/128", "[fd00:10:244:1::99]:80"
	}
	return []string{
		// A service that is gone; masquerade without clearing the mark; the kubelet's own mark for drops.
		"*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-POSTROUTING - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-MARK-DROP - [0:0]\n" +
			":KUBE-SVC-OLDOLDOLDOLDOLDO - [0:0]\n:KUBE-SEP-OLDOLDOLDOLDOLDO - [0:0]\n" +
			"-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n" +
			"-A OUTPUT -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n" +
			"-A POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j KUBE-POSTROUTING\n" +
			"-A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000\n-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000\n" +
			"-A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" -m mark --mark 0x4000/0x4000 -j MASQUERADE\n" +
			"-A KUBE-SERVICES -d " + cluster + " -p tcp -m tcp --dport 80 -j KUBE-SVC-OLDOLDOLDOLDOLDO\n" +
			"-A KUBE-SVC-OLDOLDOLDOLDOLDO -j KUBE-SEP-OLDOLDOLDOLDOLDO\n" +
			"-A KUBE-SEP-OLDOLDOLDOLDOLDO -p tcp -m tcp -j DNAT --to-destination " + endpoint + "\nCOMMIT\n",
		// A service that had no endpoints.
		"*filter\n:KUBE-SERVICES - [0:0]\n" +
			"-A FORWARD -m conntrack --ctstate NEW -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n" +
			"-A OUTPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n" +
			"-A KUBE-SERVICES -d " + cluster + " -p tcp -m comment --comment \"default/old has no endpoints\" -m tcp --dport 80 -j REJECT\nCOMMIT\n",
		// A firewall chain of before KUBE-PROXY-FIREWALL, and another canary.
		"*nat\n:KUBE-FW-OLDOLDOLDOLDOLDO - [0:0]\n:KUBE-MARK-MASQ - [0:0]\n:KUBE-PROXY-CANARY - [0:0]\n" +
			"-A KUBE-FW-OLDOLDOLDOLDOLDO -j KUBE-MARK-MASQ\nCOMMIT\n*filter\n:KUBE-EXTERNAL-SERVICES - [0:0]\n" +
			"-A INPUT -m conntrack --ctstate NEW -m comment --comment \"kubernetes externally-visible service portals\" " +
			"-j KUBE-EXTERNAL-SERVICES\nCOMMIT\n",
	}
}
