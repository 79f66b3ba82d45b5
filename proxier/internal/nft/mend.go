package nft

import (
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// appendMends removes what was found in the table and keeps the rest from being declared as it has to be: chains at hooks that another
// version of kube-proxy has put elsewhere (https://issue.k8s.io/123162) or that this one has no use for, and containers of other types. The
// clients that stick to endpoints stay.
func (r *renderer) appendMends(dst []byte, found *nftables.Table) []byte {
	s := &r.speller
	for _, name := range r.foreignBaseChains(found) {
		dst = s.line(dst, "delete chain ", name, "")
	}
	gone := r.foreignContainers(found)
	if len(gone) == 0 {
		return dst
	}
	for _, name := range slices.Sorted(maps.Keys(found.Chains)) {
		if !isServiceChain(name) && found.Chains[name].Type == "" && oursByName(name) {
			dst = s.line(dst, "flush chain ", name, "")
		}
	}
	for _, name := range gone {
		dst = s.line(dst, "delete set ", name, "")
	}
	for _, name := range slices.Sorted(maps.Keys(found.Chains)) {
		if strings.HasPrefix(name, localhostRejectPrefix) {
			dst = s.line(dst, "delete chain ", name, "")
		}
	}
	return dst
}

// What kube-proxy v1.37 has for node ports at loopback addresses, if its gate KubeProxyNFTablesLocalhostNodePorts is on.
const (
	localhostRejectPrefix = "localhost-nodeport-reject-"
	localhostRejectMap    = localhostRejectPrefix + "ports"
)

// oursByName says whether a chain without a hook belongs to the table of a kube-proxy.
func oursByName(name string) bool {
	return slices.Contains(sharedChains[:], name) || strings.HasPrefix(name, localhostRejectPrefix)
}

// foreignBaseChains returns chains at hooks that are not as they have to be, and those of other versions of kube-proxy, which names
// them after their type.
func (r *renderer) foreignBaseChains(found *nftables.Table) []string {
	wanted := map[string]nftables.Chain{}
	for _, chain := range baseChains {
		wanted[chain.name] = nftables.Chain{Type: chain.kind, Hook: chain.hook, Priority: chain.priority}
	}
	var foreign []string
	for name, chain := range found.Chains {
		want, known := wanted[name]
		if known && chain != want || !known && chain.Type != "" && strings.HasPrefix(name, chain.Type+"-") {
			foreign = append(foreign, name)
		}
	}
	slices.Sort(foreign)
	return foreign
}

// foreignContainers returns the sets and maps of fixed names that are not as they have to be, or that nothing needs.
func (r *renderer) foreignContainers(found *nftables.Table) []string {
	var foreign []string
	check := func(name string, isMap bool, wanted nftables.Set) {
		same, other := found.Sets, found.Maps
		if isMap {
			same, other = other, same
		}
		_, wrongKind := other[name]
		set, there := same[name]
		if wrongKind || there && set != wanted {
			foreign = append(foreign, name)
		}
	}
	for c := range containers {
		isMap := containerTexts[c].isMap
		check(c.name(), isMap, nftables.Set{Type: r.speller.keysOf(c), Verdicts: isMap})
	}
	wanted := nftables.Set{Type: r.speller.addressType}
	if r.common.NodePorts.All {
		wanted = nftables.Set{} // nothing is
	}
	check(nodePortIPsSet, false, wanted)
	check(localhostRejectMap, true, nftables.Set{})
	return foreign
}
