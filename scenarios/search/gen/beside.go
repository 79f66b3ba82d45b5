package gen

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// beside adds to a scenario of mode nftables what only that mode meets: ServiceCIDRs, tables of others, tables that a kube-proxy of another
// version left, damage to kube-proxy's own table, and addresses of nodes that change while it runs. It comes after everything else, so that
// the draws for that stay as they are.
type beside struct {
	mixture
	cluster  *cluster
	settings *settings
	out      *scenarios.Scenario
}

func (b *beside) add() {
	if b.in(1, 3) {
		b.ranges()
	}
	if b.in(1, 4) {
		b.preload(pick(b.draw, quietTables...))
	} else if len(b.out.IPTables.Preload) == 0 && b.in(1, 8) {
		b.preload(pick(b.draw, closedTables...))
	}
	if b.in(1, 8) {
		for _, family := range b.cluster.families {
			b.preload(pick(b.draw, formerTables(family)...))
		}
	}
	if b.in(1, 8) && !b.has.Has(SourceRanges) && !slices.ContainsFunc(b.out.Steps, reconfigures) {
		b.renumber()
	} else if b.in(1, 6) && b.has.Has(NodePortAddresses) {
		b.serveAt(wideRanges)
	}
	damaged := b.in(1, 4)
	if damaged {
		b.insert(scenarios.Step{Fault: b.damage()})
	}
	without := b.options.Without
	if !without.Has(Restart) && b.in(1, 4) {
		b.startLater()
	}
	if !damaged && !without.Has(Reconfigure) && len(b.out.IPTables.Preload) == 0 && b.in(1, 4) {
		b.otherModeForAWhile()
	}
	b.late()
}

func reconfigures(s scenarios.Step) bool { return s.Configure != nil }

// insert puts steps one after the other somewhere among those that are there, of which the last one stays the last.
func (b *beside) insert(steps ...scenarios.Step) {
	at := b.below(len(b.out.Steps))
	b.out.Steps = slices.Insert(b.out.Steps, at, steps...)
}

func (b *beside) preload(nft string) {
	b.out.IPTables.Preload = append(b.out.IPTables.Preload, scenarios.Preload{NFT: nft})
}

// ranges has the API know from which ranges it takes cluster IPs: from the start or later, one more, one less.
func (b *beside) ranges() {
	if b.in(3, 4) {
		b.out.Objects = append(b.out.Objects, b.serviceCIDR("kubernetes", "172.30.0.0/16", "fd00:30::/64"))
	} else {
		b.insert(scenarios.Step{Apply: scenarios.Objects{b.serviceCIDR("kubernetes", "172.30.0.0/16", "fd00:30::/64")}})
		return
	}
	switch b.below(4) {
	case 1:
		b.insert(scenarios.Step{Apply: scenarios.Objects{b.serviceCIDR("more", "172.31.0.0/24", "fd00:31::/112")}})
	case 2:
		b.insert(scenarios.Step{Delete: []scenarios.Ref{{Ref: b.serviceCIDR("kubernetes").Ref()}}})
	case 3:
		more := b.serviceCIDR("more", "172.31.0.0/24", "fd00:31::/112")
		b.out.Objects = append(b.out.Objects, more)
		b.insert(scenarios.Step{Delete: []scenarios.Ref{{Ref: more.Ref()}}})
	}
}

// serviceCIDR is the object with those of the ranges that are of the cluster's families.
func (b *beside) serviceCIDR(name string, ranges ...string) manifest.Object {
	o := &networkingv1.ServiceCIDR{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "ServiceCIDR"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	for i, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		if len(ranges) > 0 && slices.Contains(b.cluster.families, family) {
			o.Spec.CIDRs = append(o.Spec.CIDRs, ranges[i])
		}
	}
	return object(o)
}

// renumber gives a node another address in a range that node ports are served in, which its kube-proxy finds at its next sync.
func (b *beside) renumber() {
	b.serveAt(nodeRanges)
	n := pick(b.draw, b.cluster.nodes...)
	change := &scenarios.NodeChange{Name: n.name}
	place := len(b.cluster.nodes) + besideOthers + b.below(3)
	for _, family := range b.cluster.families {
		change.Addresses = append(change.Addresses, parse(nodeAddress(family, place)))
	}
	b.insert(scenarios.Step{Node: change, Sync: &scenarios.NodeSet{}}, scenarios.Step{Sync: everyNode()})
}

// startLater has kube-proxy not write a change, but start anew: it finds what it has written of what was there before.
func (b *beside) startLater() {
	var changes []int
	for i := range b.out.Steps {
		if s := &b.out.Steps[i]; len(s.Apply)+len(s.Delete) > 0 && s.Sync == nil {
			changes = append(changes, i)
		}
	}
	if len(changes) == 0 {
		return
	}
	at := pick(b.draw, changes...)
	b.out.Steps[at].Sync = &scenarios.NodeSet{}
	b.out.Steps = slices.Insert(b.out.Steps, at+1, scenarios.Step{Restart: everyNode()})
}

// otherModeForAWhile has kube-proxy of one node or all run in mode iptables from some step on, or between two.
func (b *beside) otherModeForAWhile() {
	nodes := everyNode()
	if b.in(1, 2) {
		nodes = &scenarios.NodeSet{Names: []string{pick(b.draw, b.cluster.nodes...).name}}
	}
	start := func(mode kubeproxyconfig.ProxyMode) scenarios.Step {
		k := asKubeProxy(fields{"mode": string(mode)})
		return scenarios.Step{Restart: nodes, Configure: &k}
	}
	at := b.below(len(b.out.Steps))
	b.out.Steps = slices.Insert(b.out.Steps, at, start(manifest.ModeIPTables))
	if b.in(3, 4) {
		b.out.Steps = slices.Insert(b.out.Steps, at+1+b.below(len(b.out.Steps)-at-1), start(manifest.ModeNFTables))
	}
}

// besideOthers is how far the places of such nodes are from those that other steps take.
const besideOthers = 4

// nodeRanges have the main address of each node, and wideRanges each other one as well.
var (
	nodeRanges = map[corev1.IPFamily]string{corev1.IPv4Protocol: "192.168.0.0/24", corev1.IPv6Protocol: "2001:db8::/64"}
	wideRanges = map[corev1.IPFamily]string{corev1.IPv4Protocol: "192.168.0.0/16", corev1.IPv6Protocol: "2001:db8::/32"}
)

// serveAt has node ports be served at addresses in ranges.
func (b *beside) serveAt(of map[corev1.IPFamily]string) {
	var ranges []string
	for _, family := range b.cluster.families {
		ranges = append(ranges, of[family])
	}
	b.settings.chosen["nodePortAddresses"] = ranges
	b.out.KubeProxy = asKubeProxy(b.settings.chosen)
}

// damage is what somebody else does to kube-proxy's table: deletes it, or empties a chain or a map of it, which is there or is made before.
func (b *beside) damage() *scenarios.Fault {
	f := &scenarios.Fault{}
	if b.in(1, 2) {
		f.Node = pick(b.draw, b.cluster.nodes...).name
	}
	kind := b.below(5)
	for _, family := range b.cluster.families {
		of, address := "ip", "ipv4_addr"
		if family == corev1.IPv6Protocol {
			of, address = "ip6", "ipv6_addr"
		}
		table := of + " kube-proxy"
		f.Run = append(f.Run, fmt.Sprintf("nft add table %s { comment %q ; }", table, tableComment))
		switch kind {
		case 2:
			f.Run = append(f.Run, "nft add chain "+table+" services", "nft flush chain "+table+" services")
		case 3:
			f.Run = append(f.Run, "nft add chain "+table+" nat-prerouting { type nat hook prerouting priority -100 ; }",
				"nft flush chain "+table+" nat-prerouting")
		case 4:
			f.Run = append(f.Run, fmt.Sprintf("nft add map %s service-ips { type %s . inet_proto . inet_service : verdict ; comment %q ; }", table,
				address, mapComment), "nft flush map "+table+" service-ips")
		default:
			f.Run = append(f.Run, "nft delete table "+table)
		}
	}
	return f
}

// What kube-proxy says of its table and of the map of addresses.
const (
	tableComment = "rules for kube-proxy"
	mapComment   = "ClusterIP, ExternalIP and LoadBalancer IP traffic"
)

// quietTables are tables of others that let every packet pass as it is.
var quietTables = []string{
	`table inet other {
	chain forward { type filter hook forward priority 0; policy accept; counter; tcp dport 9 accept; }
	chain input { type filter hook input priority 10; policy accept; ct state established,related accept; tcp dport 22 accept; }
}
`,
	`table inet other {
	chain early { type filter hook prerouting priority -300; policy accept; ct state invalid counter; }
	chain translated { type nat hook prerouting priority -90; policy accept; counter accept; }
	chain leaves { type nat hook postrouting priority 90; policy accept; meta mark 0x4000 return; counter; }
}
`,
	`table ip flannel-ipv4 {
	chain forward { type filter hook forward priority 0; policy accept; ip saddr 10.244.0.0/16 accept; ip daddr 10.244.0.0/16 accept; }
	chain postrtg { type nat hook postrouting priority 100; policy accept; meta mark 0x4000 return; counter return; }
}
`,
}

// closedTables are tables of others that drop what they do not accept, behind kube-proxy's rules.
var closedTables = []string{
	`table inet other {
	chain forward {
		type filter hook forward priority 10; policy drop;
		ct state established,related accept
		ip saddr 10.244.0.0/16 accept
		ip6 saddr fd00:10:244::/56 accept
	}
}
`,
	`table inet other {
	chain forward { type filter hook forward priority 10; policy drop; }
	chain input {
		type filter hook input priority 10; policy drop;
		iifname "lo" accept
		ct state established,related accept
		meta l4proto icmp accept
		meta l4proto ipv6-icmp accept
		tcp dport 22 accept
	}
}
`,
}

// formerTables are what a kube-proxy of another version left: chains at other places of the hooks, which cannot be moved
// (https://issue.k8s.io/123162), a service that is gone, clients of its endpoint, how v1.35 marked packets, and what v1.37 has for loopback
// addresses.
func formerTables(family corev1.IPFamily) []string {
	of, address, cluster, self, endpoint, to := "ip", "ipv4_addr", "172.30.0.9", "10.244.1.99", "10.244.1.99", "10.244.1.99:80"
	if family == corev1.IPv6Protocol {
		of, address, cluster, self = "ip6", "ipv6_addr", "fd00:30::9", "fd00:10:244:1::99"
		endpoint, to = "fd00.10.244.1..99", "[fd00:10:244:1::99]:80"
	}
	bases := `	chain filter-input-pre-dnat { type filter hook input priority -110; policy accept; }
	chain filter-input { type filter hook input priority -110; policy accept; }
	chain filter-forward { type filter hook forward priority -110; policy accept; ct state new jump service-endpoints-check; }
	chain filter-output { type filter hook output priority -110; policy accept; ct state new jump service-endpoints-check; }
	chain nat-prerouting { type nat hook prerouting priority -100; policy accept; jump services; }
`
	plain := "table " + of + " kube-proxy {\n\tcomment \"" + tableComment + "\"\n" +
		"\tchain service-endpoints-check { }\n\tchain services { }\n" + bases + "}\n"
	name := "OLDOLDOL-gone/old/tcp/"
	sticky := fmt.Sprintf(`table %[1]s kube-proxy {
	comment "%[9]s"
	set affinity-%[2]s__%[4]s/80 { type %[3]s; flags dynamic,timeout; timeout 3h; }
	chain mark-for-masquerade { mark set mark or 0x00004000; }
	chain endpoint-%[2]s__%[4]s/80 {
		%[1]s saddr %[10]s jump mark-for-masquerade
		update @affinity-%[2]s__%[4]s/80 { %[1]s saddr }
		meta l4proto tcp dnat to %[5]s
	}
	chain service-%[2]s { goto endpoint-%[2]s__%[4]s/80; }
	map service-ips {
		type %[3]s . inet_proto . inet_service : verdict
		comment "%[8]s"
		elements = { %[6]s . tcp . 80 : goto service-%[2]s }
	}
	chain service-endpoints-check { }
	chain services { %[1]s daddr . meta l4proto . th dport vmap @service-ips; }
%[7]s}
`, of, name, address, endpoint, to, cluster, bases, mapComment, tableComment, self)
	loopback := strings.Replace(sticky, "\tchain services {", "\tchain localhost-nodeport-reject-tcp { reject; }\n\tchain services {", 1)
	return []string{sticky, loopback, plain}
}
