package tools

import "github.com/chainwalk/chainwalk/scenarios"

// Name is the name of a family's tool: "iptables" or "ip6tables", and what follows it.
func Name(family scenarios.IPFamily, suffix string) string {
	if family == scenarios.FamilyIPv6 {
		return "ip6tables" + suffix
	}
	return "iptables" + suffix
}

// Families lists the one or two families of a cluster.
func Families(f scenarios.IPFamily) []scenarios.IPFamily {
	if f == scenarios.FamilyDual {
		return []scenarios.IPFamily{scenarios.FamilyIPv4, scenarios.FamilyIPv6}
	}
	return []scenarios.IPFamily{f}
}
