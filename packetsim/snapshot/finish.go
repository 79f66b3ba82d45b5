package snapshot

import (
	"cmp"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Finish makes a snapshot that was put together from parts what Take makes of a machine: routes and connections are sorted, Unread says
// why the order of both backends is not known if they share a table, and everything is checked.
func (s *NodeSnapshot) Finish(whyNoOrder string) error {
	slices.SortStableFunc(s.Routes, compareRoutes)
	slices.SortStableFunc(s.PolicyRules, func(a, b PolicyRule) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Priority, b.Priority))
	})
	slices.SortStableFunc(s.Conntrack, compareConnections)
	if len(s.Order) == 0 && (s.sharesTable(netfilter.IPv4) || s.sharesTable(netfilter.IPv6)) {
		s.Unread = append(s.Unread, Unread{What: orderUnread, Why: whyNoOrder})
	}
	s.keepReadable()
	return s.check()
}

// compareRoutes sorts by family, table, and within one table as a lookup looks: the longest
// prefix and the smallest metric first. Routes that are equal in all of that keep the kernel's order.
func compareRoutes(a, b Route) int {
	return cmp.Or(
		cmp.Compare(inet.FamilyOf(a.Dst.Addr()), inet.FamilyOf(b.Dst.Addr())),
		cmp.Compare(a.Table, b.Table),
		-cmp.Compare(a.Dst.Bits(), b.Dst.Bits()),
		a.Dst.Addr().Compare(b.Dst.Addr()),
		cmp.Compare(a.Metric, b.Metric),
	)
}

func compareConnections(a, b Connection) int {
	return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.OrigZone, b.OrigZone), cmp.Compare(a.ReplyZone, b.ReplyZone),
		compareTuples(a.Original, b.Original), compareTuples(a.Reply, b.Reply))
}

func compareTuples(a, b Tuple) int {
	return cmp.Or(
		cmp.Compare(inet.FamilyOf(a.Src), inet.FamilyOf(b.Src)), cmp.Compare(a.Proto, b.Proto),
		a.Src.Compare(b.Src), cmp.Compare(a.SrcPort, b.SrcPort), a.Dst.Compare(b.Dst), cmp.Compare(a.DstPort, b.DstPort),
		cmp.Compare(a.ICMPID, b.ICMPID), cmp.Compare(a.ICMPType, b.ICMPType), cmp.Compare(a.ICMPCode, b.ICMPCode),
	)
}
