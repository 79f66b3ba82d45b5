package kind

import (
	"net/netip"
	"slices"

	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Facts are what has to be known of a cluster to map a scenario on it.
type Facts struct {
	// Nodes are in the order in which the nodes of a scenario are mapped on them.
	Nodes []cluster.Node
	// Pods are the pods of the pool, by number on each node.
	Pods    []cluster.Pod
	Outside cluster.Outside
	// Tool is the nodes' variant of iptables.
	Dialect netfilter.Dialect
	// Networks are the networks that the nodes and the container outside share, one for each family.
	Networks []netip.Prefix
	// Place is that of Options: of Networks addresses are given from the beginning, or, in place 1, from the second quarter on.
	Place int
	// Services are the ranges of cluster IPs, one for each family.
	Services []netip.Prefix
	// TakenIPs are the cluster IPs that services have which are none of a scenario's, and TakenServices the names of these.
	TakenIPs      []netip.Addr
	TakenServices []string
	// OldSpellings says that the API server takes addresses with leading zeros, and ranges with bits beyond the prefix length, as earlier
	// versions do.
	OldSpellings bool
	// Mode is that of the proxies, as in a KubeProxyConfiguration.
	Mode string
	// Foreign is the configuration of a kube-proxy that came with the cluster and takes no other; nil where scenarios bring their own.
	Foreign *kubeproxyconfig.KubeProxyConfiguration
}

// workersFirst puts the control plane, which comes first, behind the other nodes: what happens to it slows all others down.
func workersFirst(nodes []cluster.Node) []cluster.Node {
	if len(nodes) < 2 {
		return nodes
	}
	return append(slices.Clone(nodes[1:]), nodes[0])
}

// node is the node of that name, nil if there is none.
func (f *Facts) node(name string) *cluster.Node {
	for i := range f.Nodes {
		if f.Nodes[i].Name == name {
			return &f.Nodes[i]
		}
	}
	return nil
}

// podsOn are the pool's pods on a node.
func (f *Facts) podsOn(node string) []cluster.Pod {
	return slices.DeleteFunc(slices.Clone(f.Pods), func(p cluster.Pod) bool { return p.Node != node })
}

// has reports whether the cluster has addresses of a family.
func (f *Facts) has(v6 bool) bool {
	return len(f.Nodes) > 0 && ofFamily(f.Nodes[0].Addresses, v6).IsValid()
}

// ofFamily is the first address of a family; invalid if there is none.
func ofFamily(addresses []netip.Addr, v6 bool) netip.Addr {
	for _, a := range addresses {
		if a.Is6() == v6 {
			return a
		}
	}
	return netip.Addr{}
}

// rangeOf is the first prefix of a family; invalid if there is none.
func rangeOf(prefixes []netip.Prefix, v6 bool) netip.Prefix {
	for _, p := range prefixes {
		if p.Addr().Is6() == v6 {
			return p
		}
	}
	return netip.Prefix{}
}

// families are the address families of a scenario, IPv4 first.
func families(f scenarios.IPFamily) []bool {
	switch f {
	case scenarios.FamilyIPv6:
		return []bool{true}
	case scenarios.FamilyDual:
		return []bool{false, true}
	}
	return []bool{false}
}
