//go:build upstream_1_35

package peers

import "github.com/vishvananda/netlink"

// Minor is the version of kube-proxy that is linked: 1.Minor.
const Minor = 35

// ClearEntries is what kube-proxy called until v1.35, with what it says of each entry that it wants deleted.
func (c *processConntrack) ClearEntries(family uint8, filters ...netlink.CustomConntrackFilter) (int, error) {
	var flows []*netlink.ConntrackFlow
	for flow := range c.listed {
		for _, filter := range filters {
			if filter.MatchConntrackFlow(flow) {
				flows = append(flows, flow)
				break
			}
		}
	}
	return c.DeleteEntries(family, flows)
}
