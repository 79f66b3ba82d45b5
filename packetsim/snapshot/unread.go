package snapshot

import (
	"fmt"
	"slices"

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
