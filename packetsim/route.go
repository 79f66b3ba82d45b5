package packetsim

import (
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
)

// RouteTable is the number of a routing table.
type RouteTable uint32

// The tables with names. In a Route, 0 is main.
const (
	TableDefault RouteTable = 253
	TableMain    RouteTable = 254
	TableLocal   RouteTable = 255
)

// String is the table's name, or its number.
func (t RouteTable) String() string {
	switch t {
	case TableDefault:
		return "default"
	case TableMain:
		return "main"
	case TableLocal:
		return "local"
	}
	return strconv.FormatUint(uint64(t), 10)
}

// RouteType is what a route does with a packet.
type RouteType string

// The types of routes; the empty type is unicast.
const (
	RouteUnicast     RouteType = "unicast"
	RouteLocal       RouteType = "local"
	RouteBroadcast   RouteType = "broadcast"
	RouteAnycast     RouteType = "anycast"
	RouteMulticast   RouteType = "multicast"
	RouteUnreachable RouteType = "unreachable"
	RouteProhibit    RouteType = "prohibit"
	RouteBlackhole   RouteType = "blackhole"
	RouteThrow       RouteType = "throw"
)

// Route is one route of one table.
type Route struct {
	// Dst is the destination; a default route is 0.0.0.0/0 or ::/0.
	Dst   netip.Prefix
	Type  RouteType
	Via   netip.Addr
	Dev   string
	Src   netip.Addr // preferred source address
	Table RouteTable
	// Metric is the priority: the smallest wins among routes to the same prefix.
	Metric uint32
	// Scope: empty is host for local routes, link for broadcast and for IPv4 unicast routes without Via, global for the others.
	Scope Scope
	// NextHops are a route's several next hops, instead of Via and Dev. A flow (source and destination) takes one of them by chance, by
	// their weights, and stays with it: the kernel's choice is a hash with a secret.
	NextHops []NextHop
	// Steered leaves Via to Host.Steer, as something in front of several nodes chooses one of them for each client. Until a next hop of the
	// route's family is chosen the route is not used.
	Steered bool
	// Protocol says who made the route (kernel, static, ...); a host does not look at it.
	Protocol string
	// Realms are the realms of an IPv4 route, for -m realm: of what is sent by it, plus 65536 times that of what has come by it (RTA_FLOW).
	Realms uint32
}

// NextHop is one way of a route.
type NextHop struct {
	Via    netip.Addr
	Dev    string
	Weight int // 0 is 1
}

// RuleAction is what a policy rule does.
type RuleAction string

// The actions of policy rules; the empty action is lookup.
const (
	RuleLookup      RuleAction = "lookup"
	RuleUnreachable RuleAction = "unreachable"
	RuleProhibit    RuleAction = "prohibit"
	RuleBlackhole   RuleAction = "blackhole"
)

// PolicyRule is one line of "ip rule". Unset conditions hold for every packet.
type PolicyRule struct {
	Family   netfilter.Family
	Priority uint32
	Invert   bool
	From     netip.Prefix
	To       netip.Prefix
	// Mark is compared under MarkMask; MarkMask 0 with a Mark is all bits.
	Mark     uint32
	MarkMask uint32
	In       string // "lo": packets of the host itself
	Out      string
	Action   RuleAction
	Table    RouteTable
}
