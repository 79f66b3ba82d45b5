package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/netfilter"
)

// What NodeSnapshot.Unread calls the parts of a node, whoever makes the snapshot.
const (
	UnreadSysctls   = "sysctls"
	UnreadConntrack = "conntrack entries"
	UnreadIPSets    = "ipsets"
	UnreadNFAcct    = "nfacct objects"
	// These tables say who is behind the ports of bridges and behind tunnels.
	UnreadForwarding = "forwarding databases of bridges and tunnels"
	UnreadNeighbours = "neighbour table"

	unreadHairpin = "hairpin mode of " // a port
)

// UnreadRules is what Unread calls the rules of a family.
func UnreadRules(family netfilter.Family) string { return fmt.Sprintf("IPv%d rules", family) }

// UnreadRoutes is what Unread calls the routes of a family.
func UnreadRoutes(family netfilter.Family) string { return fmt.Sprintf("IPv%d routes", family) }

// UnreadPolicyRules is what Unread calls the policy rules of a family.
func UnreadPolicyRules(family netfilter.Family) string {
	return fmt.Sprintf("IPv%d policy rules", family)
}

// lacks says whether something could not be read.
func (s *NodeSnapshot) lacks(what string) bool {
	return slices.ContainsFunc(s.Unread, func(u Unread) bool { return u.What == what })
}

// setting is a sysctl that decides where packets go.
type setting struct {
	name   string
	family netfilter.Family
	// assumed is what a node is taken to have that does not say it: what Kubernetes needs, else what the kernel begins with. other is what
	// it could have as well.
	assumed, other string
	ofBridges      bool // without a bridge it is nothing
}

var settings = []setting{
	{name: "net.ipv4.ip_forward", family: netfilter.IPv4, assumed: "1", other: "0"},
	{name: "net.ipv6.conf.all.forwarding", family: netfilter.IPv6, assumed: "1", other: "0"},
	{name: "net.bridge.bridge-nf-call-iptables", family: netfilter.IPv4, assumed: "1", other: "0", ofBridges: true},
	{name: "net.bridge.bridge-nf-call-ip6tables", family: netfilter.IPv6, assumed: "1", other: "0", ofBridges: true},
	{name: "net.ipv4.conf.all.rp_filter", family: netfilter.IPv4, assumed: "0", other: "1"},
	{name: "net.ipv4.conf.all.route_localnet", family: netfilter.IPv4, assumed: "0", other: "1"},
	{name: "net.ipv4.conf.all.accept_local", family: netfilter.IPv4, assumed: "0", other: "1"},
	{name: "net.netfilter.nf_conntrack_tcp_be_liberal", assumed: "0", other: "1"},
	{name: "net.netfilter.nf_conntrack_tcp_loose", assumed: "1", other: "0"},
	{name: "net.netfilter.nf_conntrack_checksum", assumed: "1", other: "0"},
}

// unknownSettings returns the sysctls that a walk reads and that the snapshot does not have.
func (s *NodeSnapshot) unknownSettings() []setting {
	if !s.lacks(UnreadSysctls) && !slices.ContainsFunc(s.Unread, func(u Unread) bool { return strings.HasPrefix(u.What, "sysctl ") }) {
		return nil
	}
	bridges := slices.ContainsFunc(s.Devices, func(d Device) bool { return d.Kind == "bridge" })
	var unknown []setting
	for _, one := range settings {
		_, known := s.Sysctls[one.name]
		if one.name == "net.ipv4.ip_forward" && !known {
			_, known = s.Sysctls["net.ipv4.conf.all.forwarding"]
		}
		if !known && (bridges || !one.ofBridges) && (s.lacks(UnreadSysctls) || s.lacks("sysctl "+one.name)) {
			unknown = append(unknown, one)
		}
	}
	return unknown
}

// sysctls are the settings of the node, and what is assumed of those that were not taken.
func (s *NodeSnapshot) sysctls() map[string]string {
	unknown := s.unknownSettings()
	if len(unknown) == 0 {
		return s.Sysctls
	}
	values := map[string]string{}
	for _, one := range unknown {
		values[one.name] = one.assumed
	}
	maps.Copy(values, s.Sysctls)
	return values
}
