package packetsim

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// flow is what a route lookup looks at.
type flow struct {
	dst, src netip.Addr
	mark     uint32
	in       string // "lo": the host itself sends
	out      string // only routes of this device; empty: any
	chance   Chance // chooses among several next hops; nil: the first
}

// fib is the routing state of one family: policy rules in the order of their priority, and the tables.
type fib struct {
	rules  []PolicyRule
	steps  []fibStep // the rules as look-ups go through them
	tables map[RouteTable]*fibTable
	routes int
	fast   askedSpans
	custom bool // rules other than the kernel's own, of which one may be gone (fib_has_custom_rules)
	realms bool // some route has a realm
}

// fibStep is a policy rule with its table, nil if that has no routes.
type fibStep struct {
	rule  *PolicyRule // nil if it holds for every packet and looks the table up
	table *fibTable
}

// takeSteps makes the steps of the rules, once all routes are there.
func (b *fib) takeSteps() {
	b.steps = make([]fibStep, 0, len(b.rules))
	for i := range b.rules {
		rule := &b.rules[i]
		step := fibStep{rule, b.tables[rule.Table]}
		if !rule.isPlain() {
			b.steps = append(b.steps, step)
		} else if step.rule = nil; step.table != nil {
			b.steps = append(b.steps, step)
		}
	}
}

// isPlain says that a rule holds for every packet and looks its table up.
func (r *PolicyRule) isPlain() bool {
	plain := PolicyRule{Family: r.Family, Priority: r.Priority, Action: r.Action, Table: r.Table}
	return *r == plain && (r.Action == "" || r.Action == RuleLookup)
}

// fibTable finds the routes to an address by longest prefix: one look-up for each prefix length in use.
type fibTable struct {
	lengths []fibLength // longest first
}

// fibLength is the routes to the prefixes of one length: few in a list, which is what a pod has and takes less memory, many by their
// prefixes.
type fibLength struct {
	bits int
	mask inet.Bits
	few  []prefixRoute // those of one prefix by their metrics
	many map[inet.Bits][]*route
}

// prefixRoute is a route to a prefix.
type prefixRoute struct {
	to inet.Bits
	*route
}

// fewRoutes is up to how many routes are few.
const fewRoutes = 8

// route is a Route with its defaults filled in and its device looked up.
type route struct {
	Route
	dev  *device  // nil for the types that need none, and of a route with several next hops
	hops []*route // the route by each of its next hops

	kind  routeKind
	unset struct{ table, typ, scope bool } // what was not given and has its default
}

// routeKind is what a packet's way by the route is, by the route's type.
type routeKind uint8

const (
	toOne  routeKind = iota
	toHost           // for the host itself
	toAll            // on a link
)

func (r *route) kindOf() routeKind {
	switch r.Type {
	case RouteLocal, RouteAnycast:
		return toHost
	case RouteBroadcast:
		return toAll
	}
	return toOne
}

func (t *fibTable) add(r *route) {
	addr, length := r.Dst.Addr(), r.Dst.Bits()
	at, known := slices.BinarySearchFunc(t.lengths, length, func(l fibLength, bits int) int { return cmp.Compare(bits, l.bits) })
	if !known {
		t.lengths = slices.Insert(t.lengths, at, fibLength{bits: length, mask: inet.PrefixMask(length, addr.Is4())})
	}
	t.lengths[at].add(prefixRoute{inet.BitsOf(addr), r})
}

func (l *fibLength) add(r prefixRoute) {
	if l.many != nil {
		l.many[r.to] = slices.Insert(l.many[r.to], placeAmong(l.many[r.to], r.route), r.route)
		return
	}
	at := slices.IndexFunc(l.few, func(have prefixRoute) bool { return have.to == r.to && have.Metric > r.Metric })
	if at < 0 {
		at = len(l.few)
	}
	if l.few = slices.Insert(l.few, at, r); len(l.few) <= fewRoutes {
		return
	}
	l.many = map[inet.Bits][]*route{}
	for _, have := range l.few {
		l.many[have.to] = append(l.many[have.to], have.route)
	}
	l.few = nil
}

// placeAmong is the place of a route among others to its prefix, by its metric.
func placeAmong(routes []*route, r *route) int {
	at := slices.IndexFunc(routes, func(have *route) bool { return have.Metric > r.Metric })
	if at < 0 {
		return len(routes)
	}
	return at
}

// lookup is the best route that can be used, or nil.
func (t *fibTable) lookup(f *flow) *route { return t.lookupBits(inet.BitsOf(f.dst), f) }

// lookupBits is lookup with the destination as bits.
func (t *fibTable) lookupBits(dst inet.Bits, f *flow) *route {
	for i := range t.lengths {
		length := &t.lengths[i]
		to := dst.Masked(length.mask)
		for k := range length.few {
			if r := &length.few[k]; r.to == to && r.usable(f) {
				return r.route
			}
		}
		if length.many == nil {
			continue
		}
		for _, r := range length.many[to] {
			if r.usable(f) {
				return r
			}
		}
	}
	return nil
}

func (r *route) usable(f *flow) bool {
	if len(r.hops) > 0 {
		return slices.ContainsFunc(r.hops, func(hop *route) bool { return hop.usable(f) })
	}
	if r.dev == nil {
		return f.out == ""
	}
	if r.Steered && !r.Via.IsValid() {
		return false
	}
	// fib_sync_down_dev in net/ipv4/fib_semantics.c leaves routes of the type local alone.
	return (r.dev.Up || r.Type == RouteLocal) && (f.out == "" || f.out == r.Dev)
}

// lookup goes through the policy rules. The errors are Reasons.
func (b *fib) lookup(f *flow) (*route, error) {
	if f.out == "" && f.dst.Is4() {
		if x := b.spans(); x != nil && len(x.all.from) > 0 {
			if r := x.all.of(spanAddr(f.dst)); r != nil {
				return r, r.err()
			}
			return nil, ReasonNoRoute
		}
	}
	return b.lookupTables(f)
}

// lookupTables is lookup without the spans.
func (b *fib) lookupTables(f *flow) (*route, error) {
	dst := inet.BitsOf(f.dst)
	for i := range b.steps {
		step := &b.steps[i]
		if rule := step.rule; rule != nil {
			if rule.holds(f) == rule.Invert {
				continue
			}
			if err := rule.err(); err != nil {
				return nil, err
			}
			if step.table == nil {
				continue
			}
		}
		r := step.table.lookupBits(dst, f)
		if r == nil || r.Type == RouteThrow {
			continue
		}
		return r, r.err()
	}
	return nil, ReasonNoRoute
}

// err is what the rule does instead of looking a table up.
func (r *PolicyRule) err() error {
	switch r.Action {
	case RuleUnreachable:
		return ReasonRouteUnreachable
	case RuleProhibit:
		return ReasonRouteProhibited
	case RuleBlackhole:
		return ReasonRouteBlackhole
	}
	return nil
}

// err is what the route's type does instead of routing.
func (r *route) err() error {
	switch r.Type {
	case RouteUnreachable:
		return ReasonRouteUnreachable
	case RouteProhibit:
		return ReasonRouteProhibited
	case RouteBlackhole:
		return ReasonRouteBlackhole
	}
	return nil
}

func (r *PolicyRule) holds(f *flow) bool {
	if r.From.IsValid() && r.From.Bits() > 0 && !r.From.Contains(f.src) {
		return false
	}
	if r.To.IsValid() && !r.To.Contains(f.dst) {
		return false
	}
	if (r.Mark != 0 || r.MarkMask != 0) && (f.mark^r.Mark)&r.MarkMask != 0 {
		return false
	}
	return (r.In == "" || r.In == f.in) && (r.Out == "" || r.Out == f.out)
}

// addressType is what the table local says of an address: an IPv4 address without an entry there is unicast.
func (b *fib) addressType(addr netip.Addr, dev string) RouteType {
	switch {
	case addr.Is4() && (addr.IsUnspecified() || addr == limitedBroadcast):
		return RouteBroadcast
	case addr.IsMulticast():
		return RouteMulticast
	}
	if r := b.localRoute(addr); r != nil && (dev == "" || dev == r.Dev) {
		return r.Type
	}
	return RouteUnicast
}

// localRoute is the route of the table local to an address, or nil.
func (b *fib) localRoute(addr netip.Addr) *route {
	if addr.Is4() {
		if x := b.spans(); x != nil && len(x.local.from) > 0 {
			return x.local.of(spanAddr(addr))
		}
	}
	if table := b.tables[TableLocal]; table != nil {
		return table.lookup(&flow{dst: addr})
	}
	return nil
}

// isToMany says whether the address is a group or that of all on a link.
func (b *fib) isToMany(addr netip.Addr) bool {
	t := b.addressType(addr, "")
	return t == RouteBroadcast || t == RouteMulticast
}

// isLocal says whether the host takes packets for the address.
func (b *fib) isLocal(addr netip.Addr) bool { return b.addressType(addr, "") == RouteLocal }

var limitedBroadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// defaultRules are the rules that the kernel makes; IPv6 has no table default. They are not to be written to.
func defaultRules(family netfilter.Family) []PolicyRule {
	if family == netfilter.IPv4 {
		return defaultRules4[:]
	}
	return defaultRules6[:]
}

var (
	defaultRules4 = [...]PolicyRule{
		{Family: netfilter.IPv4, Priority: 0, Table: TableLocal},
		{Family: netfilter.IPv4, Priority: 32766, Table: TableMain},
		{Family: netfilter.IPv4, Priority: 32767, Table: TableDefault},
	}
	defaultRules6 = [...]PolicyRule{
		{Family: netfilter.IPv6, Priority: 0, Table: TableLocal},
		{Family: netfilter.IPv6, Priority: 32766, Table: TableMain},
	}
)

// deviceRoutes are the routes that the kernel makes for a device with its addresses.
func deviceRoutes(dev *Device) []Route {
	var routes []Route
	speaks6 := false
	for i := range dev.Addresses {
		if !dev.Up && dev.Addresses[i].Prefix.Addr().Is6() {
			continue // addrconf_ifdown in net/ipv6/addrconf.c takes them away
		}
		routes = append(routes, addressRoutes(dev, &dev.Addresses[i])...)
		speaks6 = speaks6 || dev.Addresses[i].Prefix.Addr().Is6()
	}
	if speaks6 && dev.Name != loopbackName {
		routes = append(routes, groupRoute(dev.Name))
	}
	return routes
}

// addressRoutes are the routes that the kernel makes for an address of a device (fib_add_ifaddr, addrconf_prefix_route).
func addressRoutes(dev *Device, a *Address) []Route {
	addr, loopback := a.Prefix.Addr(), dev.Name == loopbackName
	own := Route{Dst: netip.PrefixFrom(addr, addr.BitLen()), Type: RouteLocal, Dev: dev.Name, Table: TableLocal, Scope: ScopeHost,
		Protocol: "kernel"}
	network := Route{Dst: a.Prefix.Masked(), Type: RouteUnicast, Dev: dev.Name, Table: TableMain, Protocol: "kernel"}
	if addr.Is6() {
		network.Metric = 256
		if loopback {
			return []Route{own}
		}
		return []Route{own, network}
	}
	own.Src = addr
	routes := []Route{own}
	if !a.Secondary && a.Prefix.Bits() < 32 {
		network.Src, network.Scope = addr, ScopeLink
		if loopback {
			network.Type, network.Table, network.Scope = RouteLocal, TableLocal, ScopeHost
		}
		routes = append(routes, network)
		if a.Prefix.Bits() < 31 {
			routes = append(routes, Route{Dst: netip.PrefixFrom(lastAddr(a.Prefix), 32), Type: RouteBroadcast, Dev: dev.Name,
				Table: TableLocal, Scope: ScopeLink, Src: addr, Protocol: "kernel"})
		}
	}
	return routes
}

// groupRoute is the route to all IPv6 groups that the kernel makes for a device (addrconf_add_mroute).
func groupRoute(dev string) Route {
	return Route{Dst: netip.MustParsePrefix("ff00::/8"), Type: RouteMulticast, Dev: dev, Table: TableLocal, Metric: 256, Protocol: "kernel"}
}

// lastAddr is the highest address of an IPv4 prefix.
func lastAddr(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().As4()
	for bit := p.Bits(); bit < 32; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(bytes)
}
