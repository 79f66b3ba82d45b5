package ailments

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// plain are wards without anything beside, of every kind.
func plain() []Healthy {
	var out []Healthy
	for _, layout := range Layouts {
		for _, dialect := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
			for _, families := range []Families{V4, V6, Dual} {
				out = append(out, Healthy{
					Name: fmt.Sprintf("%s, %s, %s", layout, dialect, families), Options: Options{Layout: layout, Dialect: dialect, Families: families},
				})
			}
		}
	}
	return out
}

// onBoth are the same command lines on both nodes.
func onBoth(lines ...string) []string {
	var out []string
	for _, node := range []string{"node1", "node2"} {
		for _, line := range lines {
			out = append(out, node+": "+line)
		}
	}
	return out
}

// dockerRules have the chains that a container engine makes, which drops what is forwarded for others, and what lets pods pass beside it.
var dockerRules = onBoth(
	"ip link add docker0 type bridge", "ip addr add 172.17.0.1/16 dev docker0", "ip link set docker0 up",
	"iptables -P FORWARD DROP", "iptables -N DOCKER", "iptables -N DOCKER-USER", "iptables -N DOCKER-ISOLATION-STAGE-1",
	"iptables -N DOCKER-ISOLATION-STAGE-2", "iptables -A DOCKER-USER -j RETURN",
	"iptables -A DOCKER-ISOLATION-STAGE-1 -i docker0 ! -o docker0 -j DOCKER-ISOLATION-STAGE-2",
	"iptables -A DOCKER-ISOLATION-STAGE-1 -j RETURN",
	"iptables -A DOCKER-ISOLATION-STAGE-2 -o docker0 -j DROP", "iptables -A DOCKER-ISOLATION-STAGE-2 -j RETURN",
	"iptables -A FORWARD -j DOCKER-USER", "iptables -A FORWARD -j DOCKER-ISOLATION-STAGE-1",
	"iptables -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "iptables -A FORWARD -o docker0 -j DOCKER",
	"iptables -A FORWARD -i docker0 -j ACCEPT",
	"iptables -A FORWARD -s 10.244.0.0/16 -j ACCEPT", "iptables -A FORWARD -d 10.244.0.0/16 -j ACCEPT",
	"iptables -t nat -N DOCKER", "iptables -t nat -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER",
	"iptables -t nat -A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER",
	"iptables -t nat -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE", "iptables -t nat -A DOCKER -i docker0 -j RETURN",
)

// hostFirewall are the chains of a firewall that lets nothing in but what it names, as an administrator sets it up for a cluster.
func hostFirewall(tool, pods, nodes string) []string {
	return onBoth(
		tool+" -N fw-before-input", tool+" -N fw-user-input", tool+" -N fw-before-forward", tool+" -N fw-not-local",
		tool+" -A fw-before-input -i lo -j ACCEPT", tool+" -A fw-before-input -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
		tool+" -A fw-before-input -m conntrack --ctstate INVALID -j DROP",
		tool+" -A fw-before-input -m addrtype --dst-type LOCAL -j fw-not-local",
		tool+" -A fw-not-local -m addrtype --dst-type MULTICAST -j RETURN", tool+" -A fw-before-input -j fw-user-input",
		tool+" -A fw-user-input -s "+pods+" -j ACCEPT", tool+" -A fw-user-input -s "+nodes+" -j ACCEPT",
		tool+" -A fw-user-input -p tcp -m tcp --dport 22 -j ACCEPT", tool+" -A fw-user-input -p tcp -m multiport --dports 30000:32767 -j ACCEPT",
		tool+" -A INPUT -j fw-before-input", tool+" -P INPUT DROP",
		tool+" -A fw-before-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", tool+" -A fw-before-forward -s "+pods+" -j ACCEPT",
		tool+" -A fw-before-forward -d "+pods+" -j ACCEPT", tool+" -A FORWARD -j fw-before-forward", tool+" -P FORWARD DROP",
	)
}

// nativeTable is a firewall of nftables' own that accepts.
var nativeTable = onBoth(
	"nft add table inet firewalld", "nft add chain inet firewalld filter_FORWARD { type filter hook forward priority 10 ; policy accept ; }",
	"nft add rule inet firewalld filter_FORWARD ct state established,related accept",
	"nft add rule inet firewalld filter_FORWARD ct status dnat accept",
	"nft add chain inet firewalld filter_INPUT { type filter hook input priority 10 ; policy accept ; }",
	"nft add rule inet firewalld filter_INPUT iifname lo accept",
)

// beside are wards with something beside kube-proxy that lets everything pass which it should.
var beside = []Healthy{
	{Name: "a container engine beside, legacy", Options: onBridge, Present: dockerRules},
	{Name: "a container engine beside, nft", Options: onVXLAN, Present: dockerRules},
	{Name: "a host firewall that lets pods and node ports in", Options: onPTP,
		Present: hostFirewall("iptables", "10.244.0.0/16", "192.168.0.0/24")},
	{Name: "a host firewall for IPv6", Options: onIPv6, Present: append(
		onBoth("ip6tables -A INPUT -p ipv6-icmp -j ACCEPT"), hostFirewall("ip6tables", "fd00:10:244::/56", "2001:db8::/64")...)},
	{Name: "a native table of nftables that accepts", Options: onPTP, Present: nativeTable},
	{Name: "rules for a NetworkPolicy that the clients satisfy", Options: onBridge, Present: policyRules("-d 10.244.2.3")},
	{Name: "pods that leave the cluster are masqueraded", Options: onBridge, Present: onBoth(
		"iptables -t nat -A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -m addrtype ! --dst-type LOCAL -j MASQUERADE")},
	{Name: "the rules of another backend beside", Options: onPTP, Present: onBoth(
		"iptables-legacy -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT", "iptables-legacy -t nat -A POSTROUTING -s 172.17.0.0/16 -j MASQUERADE")},
	// A pod that calls another node's port of a service that is local to its own has no symmetric way, and is not answered anywhere.
	{Name: "rp_filter is strict where ways are symmetric", Options: onPTP, Present: onBoth(
		"sysctl -qw net.ipv4.conf.all.rp_filter=1", "sysctl -qw net.ipv4.conf.eth0.rp_filter=1"), Objects: func(o Objects) {
		o.service("local").Spec.Type, o.service("local").Spec.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, ""
		o.service("local").Spec.Ports[0].NodePort = 0
	}, Without: []string{"node1:30013"}},
	{Name: "rp_filter is loose, and the way back is by another device", Options: onPTP,
		Present: append(secondWay, "node2: sysctl -qw net.ipv4.conf.all.rp_filter=2")},
	{Name: "a policy rule has a table for pods", Options: onBridge, Present: []string{
		"node1: ip route add 10.244.2.0/24 via 192.168.0.3 table 77", "node1: ip rule add from 10.244.1.0/24 to 10.244.2.0/24 lookup 77"}},
	{Name: "more addresses on the loopback device", Options: onPTP, Present: onBoth("ip addr add 203.0.113.200/32 dev lo")},
	{Name: "a node's block of pods is a black hole beside the routes of its pods", Options: onPTP, Present: []string{
		"node1: ip route add blackhole 10.244.1.0/24", "node2: ip route add blackhole 10.244.2.0/24"}},
	{Name: "a default route of two ways", Options: onPTP, Present: onBoth(
		"ip route replace default nexthop via 192.168.0.1 dev eth0 nexthop via 192.168.0.1 dev eth0 weight 2")},
	{Name: "a second network", Options: onPTP, Present: secondWay[:3:3]},
}

// configured are wards whose kube-proxy is configured in another way, or whose services are.
var configured = []Healthy{
	{Name: "masqueradeAll", Options: with(onPTP, func(c *kubeproxyconfig.KubeProxyConfiguration) { c.IPTables.MasqueradeAll = true })},
	{Name: "local traffic by the bridge", Options: with(onBridge, func(c *kubeproxyconfig.KubeProxyConfiguration) {
		c.DetectLocalMode, c.DetectLocal.BridgeInterface = "BridgeInterface", "cni0"
	})},
	{Name: "local traffic by devices' names", Options: with(onPTP, func(c *kubeproxyconfig.KubeProxyConfiguration) {
		c.DetectLocalMode, c.DetectLocal.InterfaceNamePrefix = "InterfaceNamePrefix", "veth-"
	})},
	{Name: "local traffic by the node's podCIDR", Options: with(onVXLAN, func(c *kubeproxyconfig.KubeProxyConfiguration) {
		c.DetectLocalMode = "NodeCIDR"
	})},
	{Name: "node ports at the nodes' own addresses alone", Options: with(onPTP, func(c *kubeproxyconfig.KubeProxyConfiguration) {
		c.NodePortAddresses = []string{"192.168.0.0/24"}
	})},
	{Name: "conntrack is liberal", Options: with(onPTP, func(c *kubeproxyconfig.KubeProxyConfiguration) { c.Conntrack.TCPBeLiberal = true }),
		Present: onBoth("sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=1"),
		Tries:   []Try{{From: "client1", To: "svc/far", Stray: true, Is: "web2"}}},
	{Name: "session affinity", Options: onPTP, Objects: func(o Objects) {
		o.service("web").Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	}},
	{Name: "externalTrafficPolicy Local, and an endpoint on each node", Options: onBridge, Objects: func(o Objects) {
		web := o.service("web")
		web.Spec.Type, web.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
		web.Spec.Ports[0].NodePort = 30010
	}, Tries: []Try{
		{From: "outside", To: "node1:30010", Is: "web1 seeing outside"}, {From: "outside", To: "node2:30010", Is: "web2 seeing outside"},
	}},
	{Name: "internalTrafficPolicy Local, and an endpoint on each node", Options: onPTP, Objects: func(o Objects) {
		local := corev1.ServiceInternalTrafficPolicyLocal
		o.service("web").Spec.InternalTrafficPolicy = &local
	}, Tries: []Try{{From: "client1", To: "svc/web", Is: "web1"}, {From: "client2", To: "svc/web", Is: "web2"}}},
	{Name: "an external IP", Options: onPTP, Objects: func(o Objects) { o.service("far").Spec.ExternalIPs = []string{"203.0.113.99"} },
		Tries: []Try{{From: "client1", To: "203.0.113.99:80", Is: "web2"}, {From: "outside", To: "203.0.113.99:80", Is: "web2"}}},
	{Name: "an endpoint that terminates and still serves", Options: onPTP, Objects: func(o Objects) {
		yes, no := true, false
		o.endpoints("far", func(e *discoveryv1.Endpoint) {
			e.Conditions.Ready, e.Conditions.Serving, e.Conditions.Terminating = &no, &yes, &yes
		})
	}},
}

// seen are wards of which less is known, and wards with connections that are open.
var seen = []Healthy{
	{Name: "connections that are open", Options: onPTP, Tries: []Try{
		{From: "client1", To: "svc/far", Keep: true, Is: "web2"}, {From: "web1", To: "svc/near", Keep: true, Is: "web1"},
		{From: "outside", To: "node1:30012", Keep: true, Is: "web2"}, {From: "node2", To: "svc/near", Keep: true, Is: "web1"},
		{From: "client2", SourcePort: 40053, To: "svc/dns", UDP: true, Keep: true, Is: "web1 or web2"},
	}},
	{Name: "a node without a snapshot", Options: onPTP, Seen: func(c *live.Cluster) { c.Snapshots = c.Snapshots[:1] }},
	{Name: "no pod among the objects", Options: onBridge, Seen: func(c *live.Cluster) {
		c.Objects = slices.DeleteFunc(c.Objects, func(o manifest.Object) bool { _, isPod := o.Object.(*corev1.Pod); return isPod })
	}},
	{Name: "nobody says how kube-proxy is configured", Options: onPTP, Seen: func(c *live.Cluster) { c.Config = nil }},
	{Name: "a service that has no endpoint, and one that is a name", Options: onPTP, Objects: func(o Objects) {
		peers := o.service("peers")
		peers.Spec.Type, peers.Spec.ExternalName, peers.Spec.Selector = corev1.ServiceTypeExternalName, "example.org", nil
		peers.Spec.ClusterIP, peers.Spec.ClusterIPs, peers.Spec.IPFamilies, peers.Spec.IPFamilyPolicy = "", nil, nil, nil
		for _, s := range append(o.slices("agent"), o.slices("peers")...) {
			s.Endpoints = nil
		}
	}, Without: []string{"svc/agent"}, Tries: []Try{{From: "client1", To: "svc/agent", Is: "refused"}}},
}

// with is a kind of ward with another configuration of kube-proxy.
func with(o Options, configure func(*kubeproxyconfig.KubeProxyConfiguration)) Options {
	o.Configure = configure
	return o
}

// Healthies are all of them.
func Healthies() []Healthy {
	return slices.Concat(plain(), beside, configured, seen, healthyNFTables)
}
