package peers

import (
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	v1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
)

type processSysctls struct {
	proxier.Sysctls
	routesLoopback *bool
}

// GetSysctl is what kube-proxy calls.
func (s processSysctls) GetSysctl(name string) (int, error) {
	*s.routesLoopback = *s.routesLoopback || name == sysctlRouteLocalnet
	return s.Get(name)
}

// SetSysctl is what kube-proxy calls.
func (s processSysctls) SetSysctl(name string, value int) error { return s.Set(name, value) }

type processNetwork struct{ proxier.Network }

// InterfaceAddrs is what kube-proxy calls.
func (n processNetwork) InterfaceAddrs() ([]net.Addr, error) {
	addresses, err := n.NodeAddresses()
	var out []net.Addr
	for _, a := range addresses {
		out = append(out, &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())})
	}
	return out, err
}

// processConntrack shows kube-proxy the connections of a node.
type processConntrack struct {
	table conntrack.Table
	own   func(netip.Addr) bool // nil: all
	// nothingNew says that there is nothing to look for, nil: never.
	nothingNew func() bool
	listed     map[*netlink.ConntrackFlow]conntrack.Entry
	// looked says that they were listed, failed that the last list or deletion failed.
	looked, failed bool
}

// ListEntries is what kube-proxy calls.
func (c *processConntrack) ListEntries(family uint8) ([]*netlink.ConntrackFlow, error) {
	if c.nothingNew != nil && c.nothingNew() {
		return nil, nil
	}
	c.listed = map[*netlink.ConntrackFlow]conntrack.Entry{}
	var flows []*netlink.ConntrackFlow
	err := c.table.Walk(familyNumbered(family), func(e conntrack.Entry) {
		if c.own != nil && !c.own(e.Original.Dst.Addr()) {
			return
		}
		flow := &netlink.ConntrackFlow{
			FamilyType: family, Forward: flowTuple(e.Protocol, e.Original), Reverse: flowTuple(e.Protocol, e.Reply),
		}
		c.listed[flow] = e
		flows = append(flows, flow)
	})
	c.looked, c.failed = true, err != nil
	return flows, err
}

// DeleteEntries is what kube-proxy calls.
func (c *processConntrack) DeleteEntries(family uint8, flows []*netlink.ConntrackFlow) (int, error) {
	if len(flows) == 0 {
		return 0, nil
	}
	entries := make([]conntrack.Entry, len(flows))
	for i, flow := range flows {
		entries[i] = c.listed[flow]
	}
	n, err := c.table.Delete(familyNumbered(family), entries)
	c.failed = c.failed || err != nil
	return n, err
}

func familyNumbered(number uint8) v1.IPFamily {
	if number == netlink.FAMILY_V6 {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

func flowTuple(protocol uint8, t conntrack.Tuple) netlink.IPTuple {
	return netlink.IPTuple{
		Protocol: protocol, SrcIP: t.Src.Addr().AsSlice(), DstIP: t.Dst.Addr().AsSlice(), SrcPort: t.Src.Port(), DstPort: t.Dst.Port(),
	}
}
