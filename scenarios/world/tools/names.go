package tools

import (
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Name is the name of a family's tool: "iptables" or "ip6tables", and what follows it.
func Name(family scenarios.IPFamily, suffix string) string {
	if family == scenarios.FamilyIPv6 {
		return "ip6tables" + suffix
	}
	return "iptables" + suffix
}

// NFTTable is kube-proxy's table of nftables, one in each family.
const NFTTable = "kube-proxy"

// NFTFamily is what nft calls a family.
func NFTFamily(family scenarios.IPFamily) string {
	if family == scenarios.FamilyIPv6 {
		return "ip6"
	}
	return "ip"
}

// Families lists the one or two families of a cluster.
func Families(f scenarios.IPFamily) []scenarios.IPFamily {
	if f == scenarios.FamilyDual {
		return []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6}
	}
	return []scenarios.IPFamily{f}
}

// Of is the name of a tool where it is to be that of a variant. In a run with a tool the names without a variant are its own.
func Of(name string, of scenarios.DialectRef, run netfilter.Dialect) string {
	if tool := of.In(run); tool != run {
		return Variant(name, tool)
	}
	return name
}

// Variant is the name of a tool in one of its variants: of iptables-save and nft, iptables-nft-save. What is no such name stays as it is.
func Variant(name string, tool netfilter.Dialect) string {
	for _, family := range []string{"iptables", "ip6tables"} {
		if suffix, ok := strings.CutPrefix(name, family); ok && (suffix == "" || suffix == "-save" || suffix == "-restore") {
			return family + "-" + string(tool) + suffix
		}
	}
	return name
}
