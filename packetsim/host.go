package packetsim

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

const loopbackName = "lo"

// HostConfig is everything that a Host is made of.
type HostConfig struct {
	Name string
	// Devices in the order of their creation. Without a device "lo" there is one with 127.0.0.1/8 and ::1/128.
	Devices []Device
	Routes  []Route
	// OnlyGivenRoutes: Routes hold also the routes that the kernel makes itself for addresses (local table, connected
	// networks), as in a snapshot. Without it they are added.
	OnlyGivenRoutes bool
	// PolicyRules are the rules of both families; a family without rules has the kernel's own.
	PolicyRules []PolicyRule
	// Sysctls by their dotted names ("net.ipv4.ip_forward"); the kernel's default counts where one is missing.
	Sysctls map[string]string
	// Netfilter has the rules of all tools that are in it: a node may have tables of both iptables-legacy and iptables-nft. Without it no
	// packet is tracked or filtered.
	Netfilter *netfilter.Namespace
	// Clock is read for timeouts; without it time stands still.
	Clock     clock.PassiveClock
	Conntrack []conntrack.Entry
}

// Host is one network namespace. It is safe for concurrent use, also beside tools that change its Netfilter and beside other hosts with the
// same one: its methods wait for one another, and a Walk, Verdicts, Verdict or Step sees nothing of another one that is not finished.
//
// What several calls do together is not safe: while a Checkpoint is open, what others change is ended with it. A
// Chance, a Clock and the function given to DeleteConntrack must not call methods of the host.
type Host struct {
	lock  sync.Mutex // of all that is below, but for name, netfilter and clock, which do not change
	conns conntrack.Tracker
	routing
	name      string
	sysctls   map[string]string
	conf      hostSysctls
	netfilter *netfilter.Namespace
	clock     clock.PassiveClock
	hooks     familyHooks // of the rulesets that were met last
	indexing  indexPolicy
	memory    *memory
	tally     tally
	values    ruleValues
	nftValues nftValues
	idle      []*walk     // walks that have ended
	verdict   Outcome     // of the last Verdict
	given     PacketState // of the packet that is walked
	texts     texts
}

// routing is where a host's packets go: its devices and their addresses, and the routes by them.
type routing struct {
	conf       *hostSysctls // the host's
	memory     *memory      // the host's, of the next hops that flows take
	devices    []*device
	byName     map[string]*device
	fib4, fib6 *fib
	routes     []route    // of both families, in the order in which they were given
	addresses  addressSet // of the devices
	steered    []*route   // those of the routes that Steer chooses the next hop of
	via        netip.Addr // what it has chosen
}

// device is a Device with its settings.
type device struct {
	Device
	conf deviceSysctls
}

// stoppedClock is the clock of a host that was given none.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time                  { return time.Unix(0, 0) }
func (stoppedClock) Since(t time.Time) time.Duration { return time.Unix(0, 0).Sub(t) }

// NewHost builds a host. Its errors name the part of the configuration that cannot be.
func NewHost(config HostConfig) (*Host, error) {
	h := &Host{
		name:      config.Name,
		sysctls:   maps.Clone(config.Sysctls),
		netfilter: config.Netfilter,
		clock:     config.Clock,
		indexing:  usualIndexPolicy,
	}
	if h.sysctls == nil {
		h.sysctls = map[string]string{}
	}
	if h.clock == nil {
		h.clock = stoppedClock{}
	}
	h.memory, h.tally.namespace = newMemory(h.netfilter, h.clock), h.netfilter
	h.conns = conntrack.NewTracker(h.clock, h.netfilter.ForcesAccounting)
	h.routing.conf, h.routing.memory = &h.conf, h.memory
	if err := h.SetNetwork(config.Devices, config.Routes, config.PolicyRules, config.OnlyGivenRoutes); err != nil {
		return nil, err
	}
	h.checkpoint()
	defer h.keep()
	if err := h.conns.Load(config.Conntrack); err != nil {
		return nil, fmt.Errorf("host %s: %w", h.name, err)
	}
	return h, nil
}

// SetNetwork replaces the host's devices, routes and policy rules, with the meaning that they have in HostConfig.
// Tracked connections stay, but for those that were masqueraded by a device that is down now or with an address that is gone.
// On an error the host is as it was.
func (h *Host) SetNetwork(devices []Device, routes []Route, rules []PolicyRule, onlyGivenRoutes bool) error {
	b := &networkBuilder{byName: map[string]*device{}}
	if err := b.build(devices, routes, rules, onlyGivenRoutes); err != nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	before := h.byName
	h.devices, h.byName, h.addresses = b.devices, b.byName, b.addresses
	h.fib4, h.fib6, h.routes = b.fibs[netfilter.IPv4], b.fibs[netfilter.IPv6], b.routes
	h.steered = b.steered
	h.steer()
	h.forgetMasquerades(before)
	if err := h.readSysctls(); err != nil {
		return fmt.Errorf("host %s: %w", h.name, err)
	}
	return nil
}

// Config is what the host is made of now, tracked connections included. A host built of it walks as this one does, but for the
// lists of the recent match and the sequence numbers of TCP connections, whose segments are all in their window then.
func (h *Host) Config() HostConfig {
	h.lock.Lock()
	defer h.lock.Unlock()
	config := HostConfig{
		Name:            h.name,
		OnlyGivenRoutes: true,
		PolicyRules:     slices.Concat(h.fib4.rules, h.fib6.rules),
		Sysctls:         maps.Clone(h.sysctls),
		Netfilter:       h.netfilter,
		Clock:           h.clock,
		Conntrack:       h.conns.Entries(),
	}
	for _, dev := range h.devices {
		config.Devices = append(config.Devices, dev.Device)
	}
	for i := range h.routes {
		config.Routes = append(config.Routes, h.routes[i].given())
	}
	return config
}

// Name is the host's name.
func (h *Host) Name() string { return h.name }

// Netfilter is the host's netfilter configuration; nil if it has none.
func (h *Host) Netfilter() *netfilter.Namespace { return h.netfilter }

// Rulesets are what the host's netfilter holds of a family: one for each dialect whose tools are in it.
func (h *Host) Rulesets(family netfilter.Family) []netfilter.RulesetView {
	var out []netfilter.RulesetView
	if h.netfilter == nil {
		return nil
	}
	for _, kernel := range fakeipt.Kernels(h.netfilter) {
		out = append(out, kernel.Ruleset(family).View())
	}
	return out
}

// Device is the device of a name; false if the host has none of it.
func (h *Host) Device(name string) (Device, bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	d := h.byName[name]
	if d == nil {
		return Device{}, false
	}
	return d.Device, true
}

// IsLocal says whether the host takes packets for the address itself.
func (h *Host) IsLocal(addr netip.Addr) bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.fib(addr).isLocal(addr)
}

// SourceFor is the source address of a packet that the host sends to dst from an unbound socket.
func (h *Host) SourceFor(dst netip.Addr) (netip.Addr, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	_, src, err := h.routeOutput(&flow{dst: dst, in: loopbackName}, false)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("host %s: source for %s: %w", h.name, dst, err)
	}
	return src, nil
}

func (h *routing) fib(addr netip.Addr) *fib {
	if addr.Is6() {
		return h.fib6
	}
	return h.fib4
}

// networkBuilder makes the routing state of a host.
type networkBuilder struct {
	devices   []*device
	byName    map[string]*device
	addresses addressSet
	fibs      map[netfilter.Family]*fib
	steered   []*route
	routes    []route
}

func (b *networkBuilder) build(devices []Device, routes []Route, rules []PolicyRule, onlyGivenRoutes bool) error {
	if err := b.addDevices(devices); err != nil {
		return err
	}
	var own []Route
	if !onlyGivenRoutes {
		for _, dev := range b.devices {
			own = append(own, deviceRoutes(&dev.Device)...)
		}
	}
	if err := b.addRules(rules); err != nil {
		return err
	}
	b.routes = make([]route, len(own)+len(routes))
	for i := range b.routes {
		if i < len(own) {
			b.routes[i].Route = own[i]
		} else {
			b.routes[i].Route = routes[i-len(own)]
		}
		if err := b.addRoute(i, &b.routes[i]); err != nil {
			return err
		}
	}
	for _, f := range b.fibs {
		f.takeSteps()
	}
	return nil
}

func (b *networkBuilder) addDevices(devices []Device) error {
	isLoopback := func(d Device) bool { return d.Name == loopbackName }
	lacksLoopback := !slices.ContainsFunc(devices, isLoopback)
	room := make([]device, 0, len(devices)+1)
	if lacksLoopback {
		room = append(room, device{Device: Device{Name: loopbackName, Kind: "loopback", MTU: 65536, Up: true, Groups: []netip.Addr{},
			Addresses: []Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8")}, {Prefix: netip.MustParsePrefix("::1/128")}}}})
	}
	for i := range devices {
		room = append(room, device{Device: devices[i]})
	}
	b.devices = make([]*device, 0, len(room))
	for i := range room {
		if err := b.addDevice(i, &room[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *networkBuilder) addDevice(i int, d *device) error {
	if d.Index == 0 {
		d.Index = i + 1
	}
	if d.Name == "" || len(d.Name) > 15 {
		return fmt.Errorf("device %q: want a name of 1 to 15 characters", d.Name)
	}
	if b.byName[d.Name] != nil {
		return fmt.Errorf("device %s is given twice", d.Name)
	}
	for _, a := range d.Addresses {
		if !a.Prefix.IsValid() {
			return fmt.Errorf("device %s: an address is not set", d.Name)
		}
		b.addresses.add(a.Prefix.Addr())
	}
	b.devices, b.byName[d.Name] = append(b.devices, d), d
	return nil
}

func (b *networkBuilder) addRules(rules []PolicyRule) error {
	b.fibs = map[netfilter.Family]*fib{}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		b.fibs[family] = &fib{tables: map[RouteTable]*fibTable{}}
	}
	for i, rule := range rules {
		f := b.fibs[rule.Family]
		if f == nil {
			return fmt.Errorf("policy rule %d: unknown family %d: want 4 or 6", i, rule.Family)
		}
		if rule.Mark != 0 && rule.MarkMask == 0 {
			rule.MarkMask = ^uint32(0)
		}
		f.rules = append(f.rules, rule)
	}
	for _, family := range []netfilter.Family{netfilter.IPv4, netfilter.IPv6} {
		f, own := b.fibs[family], defaultRules(family)
		if len(f.rules) == 0 {
			f.rules = own // which all hosts share
		} else {
			slices.SortStableFunc(f.rules, func(x, y PolicyRule) int { return cmp.Compare(x.Priority, y.Priority) })
		}
		f.custom = !slices.EqualFunc(f.rules, own, isLike)
	}
	return nil
}

// isLike says whether two rules are the same, with or without the word lookup.
func isLike(r, own PolicyRule) bool {
	if r.Action == RuleLookup {
		r.Action = own.Action
	}
	return r == own
}

func (b *networkBuilder) addRoute(i int, r *route) error {
	if !r.Dst.IsValid() {
		return fmt.Errorf("route %d: the destination is not set (a default route is 0.0.0.0/0 or ::/0)", i)
	}
	r.Dst = r.Dst.Masked()
	r.setDefaults()
	r.kind = r.kindOf()
	switch r.Type {
	case RouteUnicast, RouteLocal, RouteBroadcast, RouteAnycast, RouteMulticast:
		if r.Steered {
			if err := b.addSteered(r); err != nil {
				return err
			}
		}
		if len(r.NextHops) > 0 {
			if err := b.addNextHops(r); err != nil {
				return err
			}
		} else if r.dev = b.byName[r.Dev]; r.dev == nil {
			return fmt.Errorf("route %s: there is no device %q", r.Dst, r.Dev)
		}
	case RouteUnreachable, RouteProhibit, RouteBlackhole, RouteThrow:
	default:
		return fmt.Errorf("route %s: unknown type %q", r.Dst, r.Type)
	}
	if r.Via.IsValid() && r.Via.Is4() && r.Dst.Addr().Is6() {
		return fmt.Errorf("route %s: next hop %s is of the other family", r.Dst, r.Via)
	}
	f := b.fibs[inet.FamilyOf(r.Dst.Addr())]
	f.realms = f.realms || r.Realms != 0
	f.routes++
	if f.tables[r.Table] == nil {
		f.tables[r.Table] = &fibTable{}
	}
	f.tables[r.Table].add(r)
	return nil
}

// setDefaults fills in what was not given.
func (r *route) setDefaults() {
	if r.unset.table = r.Table == 0; r.unset.table {
		r.Table = TableMain
	}
	if r.unset.typ = r.Type == ""; r.unset.typ {
		r.Type = RouteUnicast
	}
	if r.unset.scope = r.Scope == ""; r.unset.scope {
		r.Scope = r.defaultScope()
	}
}

// given is the route without its defaults, and without the next hop that Steer chose.
func (r *route) given() Route {
	out := r.Route
	if r.unset.table {
		out.Table = 0
	}
	if r.unset.typ {
		out.Type = ""
	}
	if r.unset.scope {
		out.Scope = ""
	}
	if r.Steered {
		out.Via = netip.Addr{}
	}
	return out
}

func (r *Route) defaultScope() Scope {
	switch {
	case r.Steered:
		return ScopeGlobal
	case r.Type == RouteLocal:
		return ScopeHost
	case r.Type == RouteBroadcast, r.Type == RouteUnicast && r.Dst.Addr().Is4() && !r.Via.IsValid():
		return ScopeLink
	}
	return ScopeGlobal
}
