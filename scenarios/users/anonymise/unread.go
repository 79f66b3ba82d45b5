package anonymise

import (
	"net/netip"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// leftOut is the reason that stands in the place of one that may say anything.
const leftOut = "the reason is left out"

// plainUnread are the things that a snapshot lacks whose names say nothing.
var plainUnread = lazyregexp.New(`^(?:(?:table (?:raw|mangle|nat|filter|security) of the )?IPv[46] (?:rules|routes|policy rules)` +
	`(?: of table (?:local|main|default|\d+))?|sysctls|conntrack entries|ipsets|nfacct objects|neighbour table|kinds of devices|` +
	`forwarding databases of bridges and tunnels|native nftables tables|nftables (?:tables|chains)|order of the iptables backends)$`)

// unread says that something could not be read, by its new name.
func (r nodeRenamer) unread(old snapshot.Unread) snapshot.Unread {
	out := snapshot.Unread{What: old.What, Why: leftOut}
	if plainUnread().MatchString(old.What) {
		return out
	}
	for _, begin := range []string{
		"route to ", "hairpin mode of ", "recent list ", "chain ", "nftables table ", "end of ", "rules in ", "file ", "line of ",
		"native nftables tables ", "sysctl ", "IPv4 route ", "IPv6 route ", "IPv4 policy rule ", "IPv6 policy rule ",
	} {
		rest, is := strings.CutPrefix(old.What, begin)
		if !is {
			continue
		}
		out.What = begin + r.unreadName(begin, rest)
		return out
	}
	out.What = r.Name("something", old.What)
	return out
}

func (r nodeRenamer) unreadName(begin, old string) string {
	switch begin {
	case "route to ":
		if p, err := netip.ParsePrefix(old); err == nil {
			return r.Prefix(p).String()
		}
	case "sysctl ":
		if snapshot.KeepsSysctl(old) {
			return r.sysctl(old)
		}
	case "hairpin mode of ":
		return r.Device(old)
	case "recent list ":
		if provenance.IsOfServicePort(old) {
			return r.Chain(old)
		}
		return r.list(old)
	case "chain ":
		chain, table, found := strings.Cut(old, " of nftables table ")
		if family, name, two := strings.Cut(table, " "); found && two {
			return r.nfName("chain", chain) + " of nftables table " + r.nfFamily(family) + " " + r.nfName("table", name)
		}
	case "nftables table ":
		if family, name, two := strings.Cut(old, " "); two {
			return r.nfFamily(family) + " " + r.nfName("table", name)
		}
	}
	return r.Name("something", old)
}

// nfFamily is a family of nft.
func (r nodeRenamer) nfFamily(old string) string {
	if kept(old, "ip", "ip6", "inet", "arp", "bridge", "netdev") != "" {
		return old
	}
	return r.Name("family", old)
}
