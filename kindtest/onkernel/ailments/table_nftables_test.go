package ailments

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// nftables has kube-proxy write its rules in mode nftables.
func nftables(o Options) Options {
	return with(o, func(c *kubeproxyconfig.KubeProxyConfiguration) { c.Mode = "nftables" })
}

// inMode has the kube-proxy of one node run in another mode than that of the other one.
func inMode(o Options, node, mode string) Options {
	o.Modes = map[string]string{node: mode}
	return o
}

// The kinds of wards whose nodes run kube-proxy in mode nftables.
var (
	inPTP    = nftables(onPTP)
	inBridge = nftables(onBridge)
	inVXLAN  = nftables(onVXLAN)
	inIPv6   = nftables(onIPv6)
	inDual   = nftables(Options{Layout: PTP, Dialect: netfilter.Legacy, Families: Dual})
)

// Chains of kube-proxy's in mode nftables.
const farChain = "service-6UIHZ5VP-default/far/tcp/http"

// inNFTables are things that go wrong on nodes whose kube-proxy runs in mode nftables.
var inNFTables = []Ailment{
	{
		Name: "nftables: the element of a service is not there", Options: inPTP,
		Fault: []string{"node1: nft delete element ip kube-proxy service-ips { 10.96.0.12 . tcp . 80 }"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: the element of a service is not there, IPv6", Options: inIPv6,
		Fault: []string{"node1: nft delete element ip6 kube-proxy service-ips { fd00:10:96::12 . tcp . 80 }"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: the element of a node port is not there", Options: inBridge,
		Fault: []string{"node1: nft delete element ip kube-proxy service-nodeports { tcp . 30012 }"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: the node's address serves no node ports", Options: inPTP,
		Fault: []string{"node1: nft flush set ip kube-proxy nodeport-ips"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: the chain of a service is empty", Options: inVXLAN,
		Fault: []string{"node1: nft flush chain ip kube-proxy " + farChain},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: somebody deleted kube-proxy's table", Options: inPTP,
		Fault: []string{"node1: nft delete table ip kube-proxy"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.NoProxyRules,
	},
	{
		Name: "nftables: somebody flushed the ruleset", Options: inBridge,
		Fault: []string{"node1: nft flush ruleset"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.NoProxyRules,
	},
	{
		Name: "nftables: nothing is masqueraded", Options: inPTP,
		Fault: []string{"node1: nft flush chain ip kube-proxy masquerading"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: the hook does not lead to kube-proxy's rules", Options: inPTP,
		Fault: []string{"node1: nft flush chain ip kube-proxy nat-prerouting"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: the rules are older than the endpoint", Options: inPTP,
		Objects: func(o Objects) { moveEndpoint(o, "far", "10.244.2.9") },
		Later:   func(o Objects) { moveEndpoint(o, "far", "10.244.2.3") },
		Tries:   []Try{{From: "client1", To: "svc/far", Is: "silent"}},
		Cause:   cause.RuleStale,
	},
	{
		Name: "nftables: the rules are older than the service", Options: inBridge,
		Objects: func(o Objects) { o.service("far").Spec.Ports[0].Port = 8000 },
		Later:   func(o Objects) { o.service("far").Spec.Ports[0].Port = 80 },
		Tries:   []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause:   cause.RuleMissing,
	},
	{
		Name: "nftables: an element sends a service to another one", Options: inPTP,
		Fault: []string{
			"node1: nft delete element ip kube-proxy service-ips { 10.96.0.12 . tcp . 80 }",
			"node1: nft add element ip kube-proxy service-ips { 10.96.0.12 . tcp . 80 : goto service-UYQPNBUB-default/near/tcp/http }",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "web1"}},
		Cause: cause.RuleMissing,
	},
	{
		Name: "nftables: somebody put a rule into the service's chain", Options: inPTP,
		Fault: []string{"node1: nft insert rule ip kube-proxy " + farChain + " drop"},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.RuleForeign,
	},
	{
		Name: "nftables: the policy of iptables' FORWARD is DROP, which mode iptables passes with its mark", Options: inPTP,
		Fault: []string{"node1: iptables -P FORWARD DROP"},
		Tries: []Try{{From: "outside", To: "node1:30012", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "nftables: a native firewall drops what is forwarded", Options: inBridge,
		Fault: []string{
			"node1: nft add table inet fw", "node1: nft add chain inet fw forward { type filter hook forward priority 10 ; policy drop ; }",
			"node1: nft add rule inet fw forward ct state established,related accept",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "silent"}},
		Cause: cause.Policy,
	},
	{
		Name: "nftables: a native firewall rejects the endpoint's port", Options: inPTP,
		Fault: []string{
			"node2: nft add table inet fw", "node2: nft add chain inet fw forward { type filter hook forward priority 0 ; }",
			"node2: nft add rule inet fw forward tcp dport 8080 reject",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "refused"}},
		Cause: cause.ForeignDrop,
	},
	{
		Name: "nftables: somebody translates the service's address first", Options: inPTP,
		Fault: []string{
			"node1: nft add table ip mine", "node1: nft add chain ip mine pre { type nat hook prerouting priority -101 ; }",
			"node1: nft add rule ip mine pre ip daddr 10.96.0.12 tcp dport 80 dnat to 10.244.1.3:8080",
		},
		Tries: []Try{{From: "client1", To: "svc/far", Was: "web2", Is: "web1"}},
		Cause: cause.ForeignNAT,
	},
	{
		Name: "nftables: no endpoint is ready", Options: inBridge,
		Objects: func(o Objects) {
			no := false
			o.endpoints("far", func(e *discoveryv1.Endpoint) { e.Conditions.Ready = &no })
		},
		Tries: []Try{{From: "client1", To: "svc/far", Is: "refused"}},
		Cause: cause.NotReady, Unpromised: true,
	},
	{
		Name: "nftables: the service has no such port", Options: inPTP,
		Tries: []Try{{From: "client1", To: "svc/far:81", Is: "refused"}},
		Cause: cause.NoSuchPort, Unpromised: true,
	},
	{
		Name: "nftables: externalTrafficPolicy Local, and the endpoint is on another node", Options: inPTP,
		Objects: func(o Objects) {
			o.service("far").Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		},
		Tries: []Try{{From: "outside", To: "node1:30012", Is: "silent"}},
		Cause: cause.LocalOnly, Unpromised: true,
	},
	{
		Name: "nftables: loadBalancerSourceRanges leave the client out", Options: inPTP,
		Objects: func(o Objects) { o.service("far").Spec.LoadBalancerSourceRanges = []string{"198.51.100.64/26"} },
		Tries:   []Try{{From: "outside", To: "lb/far", Is: "silent"}},
		Cause:   cause.SourceRange, Unpromised: true,
	},
}

// healthyNFTables are wards with nothing wrong whose nodes run kube-proxy in mode nftables.
var healthyNFTables = []Healthy{
	{Name: "nftables, ptp, IPv4", Options: inPTP},
	{Name: "nftables, bridge, IPv4", Options: inBridge},
	{Name: "nftables, vxlan, IPv4", Options: inVXLAN},
	{Name: "nftables, ptp, IPv6", Options: inIPv6},
	{Name: "nftables, ptp, dual", Options: inDual},
	{Name: "nftables, a native table that accepts", Options: inPTP, Present: nativeTable},
	{Name: "nftables, a container engine beside", Options: inBridge, Present: dockerRules},
	{Name: "nftables, session affinity", Options: inPTP, Objects: func(o Objects) {
		o.service("web").Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	}},
	{Name: "nftables, connections that are open", Options: inPTP, Tries: []Try{
		{From: "client1", To: "svc/far", Keep: true, Is: "web2"}, {From: "web1", To: "svc/near", Keep: true, Is: "web1"},
		{From: "outside", To: "node1:30012", Keep: true, Is: "web2"},
	}},
	{Name: "one node in mode nftables, one in mode iptables", Options: inMode(onPTP, "node2", "nftables")},
	{Name: "a node runs another mode than its configuration says", Options: inMode(onBridge, "node1", "nftables"),
		Seen: func(c *live.Cluster) { c.NodeConfigs = nil }},
}
