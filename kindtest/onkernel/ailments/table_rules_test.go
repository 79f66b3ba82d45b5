package ailments

import (
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

// The kinds of wards that most ailments are on.
var (
	onPTP    = Options{Layout: PTP, Dialect: netfilter.NFT, Families: V4}
	onBridge = Options{Layout: Bridge, Dialect: netfilter.Legacy, Families: V4}
	onVXLAN  = Options{Layout: Overlay, Dialect: netfilter.NFT, Families: V4}
	onIPv6   = Options{Layout: PTP, Dialect: netfilter.Legacy, Families: V6}
)

// Chains of kube-proxy's in a ward.
const (
	farService  = "KUBE-SVC-PR4LGBFBOMKWWDXG"
	farEndpoint = "KUBE-SEP-B6ROESVHMF26Y5WG"
)

// policyRules are what kube-router writes for a NetworkPolicy that selects web2 and lets in what matches.
func policyRules(match string) []string {
	const pod, policy = "KUBE-POD-FW-XG4BVCBWOIIBGCJQ", "KUBE-NWPLCY-LQ5DXRWPCBZFZSYV"
	return []string{
		"node2: iptables -N KUBE-ROUTER-FORWARD", "node2: iptables -N " + pod, "node2: iptables -N " + policy,
		"node2: iptables -I FORWARD -j KUBE-ROUTER-FORWARD", "node2: iptables -A KUBE-ROUTER-FORWARD -d 10.244.2.3 -j " + pod,
		"node2: iptables -A " + pod + " -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "node2: iptables -A " + pod + " -j " + policy,
		"node2: iptables -A " + policy + " " + match + " -j MARK --set-xmark 0x10000/0x10000",
		"node2: iptables -A " + pod + " -m mark ! --mark 0x10000/0x10000 -j REJECT",
	}
}

// foreignRules are rules of others than kube-proxy.
var foreignRules = []Ailment{
	{
		Name: "the policy of FORWARD is DROP", Options: onBridge,
		Fault: []string{"node1: iptables -P FORWARD DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "the policy of FORWARD is DROP for IPv6", Options: onIPv6,
		Fault: []string{"node1: ip6tables -P FORWARD DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "the policy of FORWARD in the table mangle is DROP", Options: onPTP,
		Fault: []string{"node2: iptables -t mangle -P FORWARD DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "the policy of INPUT is DROP", Options: onPTP,
		Fault: []string{"node2: iptables -P INPUT DROP"},
		Tries: []Try{{From: "client1", To: "svc/agent", Was: "agent", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "the policy of OUTPUT is DROP", Options: onPTP,
		Fault: []string{"node1: iptables -P OUTPUT DROP"},
		Tries: []Try{{From: "node1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "a firewall drops what is forwarded to pods", Options: onPTP,
		Fault: []string{"node1: iptables -I FORWARD -d 10.244.2.0/24 -j DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "a firewall rejects what is forwarded to a port", Options: onBridge,
		Fault: []string{"node2: iptables -I FORWARD -p tcp --dport 8080 -j REJECT"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "a rule in the table raw drops packets to the service", Options: onPTP,
		Fault: []string{"node1: iptables -t raw -A PREROUTING -d 10.96.0.12 -j DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "a firewall drops replies", Options: onPTP,
		Fault: []string{"node2: iptables -I FORWARD -s 10.244.2.3 -p tcp --sport 8080 -j DROP"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "a firewall drops the node's port", Options: onPTP,
		Fault: []string{"node1: iptables -t mangle -A PREROUTING -i eth0 -p tcp --dport 30012 -j DROP"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "a proxy redirects port 80 before kube-proxy's rules", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -I PREROUTING -p tcp --dport 80 -j REDIRECT --to-ports 15001"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.ForeignNAT,
	},
	{
		Name: "a rule of somebody else translates the service's address", Options: onPTP,
		Fault: []string{"node1: iptables -t nat -I PREROUTING -d 10.96.0.12 -p tcp -j DNAT --to-destination 10.244.1.3:8080"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "web1"}},
		Cause: cause.ForeignNAT,
	},
	{
		Name: "a rule of somebody else translates what the node itself sends", Options: onBridge,
		Fault: []string{"node1: iptables -t nat -I OUTPUT -d 10.96.0.0/16 -p tcp -j DNAT --to-destination 10.244.1.3:9999"},
		Tries: []Try{{From: "node1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.ForeignNAT,
	},
	{
		Name: "rules for a NetworkPolicy drop the client", Options: onBridge,
		Fault: policyRules("-s 10.244.9.0/24"),
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.PolicyRules, Unpromised: true,
	},
	{
		Name: "a native table of nftables drops packets to the pod", Options: onPTP,
		Fault: []string{
			"node1: nft add table inet fw", "node1: nft add chain inet fw forward { type filter hook forward priority 0 ; }",
			"node1: nft add rule inet fw forward ip daddr 10.244.2.3 drop",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "the policy of a native table of nftables drops packets", Options: onPTP,
		Fault: []string{
			"node1: nft add table inet fw",
			"node1: nft add chain inet fw forward { type filter hook forward priority 0 ; policy drop ; }",
			"node1: nft add rule inet fw forward ct state established,related counter accept",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "a native table of nftables translates packets for the service", Options: onPTP,
		Fault: []string{
			"node1: nft add table ip other", "node1: nft add chain ip other pre { type nat hook prerouting priority -150 ; }",
			"node1: nft add rule ip other pre tcp dport 80 redirect to :15001",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.ForeignNAT,
	},
	{
		Name: "a native table of nftables with what chainwalk does not walk drops packets to the pod", Options: onPTP,
		Fault: []string{
			"node1: nft add table inet fw", "node1: nft add chain inet fw forward { type filter hook forward priority 0 ; }",
			"node1: nft add rule inet fw forward meta cpu 0-1000 ip daddr 10.244.2.3 drop",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.UnknownRule, Undecided: true,
	},
}
