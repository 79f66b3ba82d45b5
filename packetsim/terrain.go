package packetsim

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/netfilter/nftables"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// HookEntryKind is what an entry of a hook does.
type HookEntryKind uint8

// The kinds of entries.
const (
	EntryChain     HookEntryKind = iota // a base chain
	EntryConntrack                      // conntrack looks the packet's connection up
	EntryNAT                            // NAT binds a side of a new connection, by its own chains, and translates
	EntryConfirm                        // conntrack puts a new connection into its table
)

// HookEntry is one thing that a hook does with a packet.
type HookEntry struct {
	Kind HookEntryKind
	// Side is what NAT binds.
	Side conntrack.Side
	// Chains are the one chain of EntryChain, or those that NAT asks in turn until one has bound.
	Chains []HookChain
}

// HookChain is a base chain: of iptables if Chain is set, otherwise of nf_tables.
type HookChain struct {
	Rules    *ruleset.Ruleset
	Table    *ruleset.Table
	Chain    *ruleset.Chain
	NFTTable *nftables.Table
	NFTChain *nftables.Chain
	// Reroutes says that a packet of the host gets another route if the chain changes what its route depends on.
	Reroutes bool
}

func oneChain(c HookChain) HookEntry { return HookEntry{Chains: []HookChain{c}} }

func chainsOf(entries []entry) []HookChain {
	var chains []HookChain
	for i := range entries {
		chains = append(chains, entries[i].what.Chains...)
	}
	return chains
}

// Terrain is what a host has around its rules at one moment, for packets of one family: what each hook does in turn, and what routing,
// the types of
// addresses and the choice of sources say, as pure functions. Walks ask the same code. Connections that are there play no part in it,
// nor does
// what changes later.
type Terrain struct {
	host  *Host // one of its own, without connections
	hooks *rulesetHooks
	six   bool
}

// Terrain is the host's terrain now.
func (h *Host) Terrain(family netfilter.Family) (*Terrain, error) {
	config := h.Config()
	config.Conntrack = nil
	own, err := NewHost(config)
	if err != nil {
		return nil, err
	}
	own.steerAs(h)
	t := &Terrain{host: own, six: family == netfilter.IPv6}
	if own.netfilter != nil {
		t.hooks = newRulesetHooks(own.netfilter, family, nil)
	}
	return t, nil
}

// Speller spells the host's rules of nftables; nil if nobody does.
func (t *Terrain) Speller() nftables.Speller {
	if kernel := nftables.In(t.host.netfilter); kernel != nil {
		return kernel.Speller()
	}
	return nil
}

// steerAs takes the next hop that another host of the same routes has chosen.
func (h *Host) steerAs(other *Host) {
	other.lock.Lock()
	via := other.via
	other.lock.Unlock()
	h.via = via
	h.steer()
}

// Alike says whether all but the rules is the same in two terrains.
func (t *Terrain) Alike(other *Terrain) bool {
	around := func(t *Terrain) HostConfig {
		config := t.host.Config()
		config.Name, config.Netfilter, config.Clock, config.Conntrack = "", nil, nil, nil
		return config
	}
	return t.six == other.six && t.Tracks() == other.Tracks() && t.host.via == other.host.via &&
		reflect.DeepEqual(around(t), around(other))
}

// Tracks says whether conntrack looks at the packets.
func (t *Terrain) Tracks() bool { return t.hooks != nil && t.hooks.tracks }

// Entries are what a hook does with packets, in turn.
func (t *Terrain) Entries(at netfilter.Hook) []HookEntry {
	if t.hooks == nil {
		return nil
	}
	var all []HookEntry
	for i := range t.hooks.entries[at] {
		all = append(all, t.hooks.entries[at][i].what)
	}
	return all
}

// Devices are the host's devices.
func (t *Terrain) Devices() []Device {
	var all []Device
	for _, d := range t.host.devices {
		all = append(all, d.Device)
	}
	return all
}

// Bridge is the name of the bridge that a device is a port of; empty if it is none.
func (t *Terrain) Bridge(device string) string {
	if dev := t.host.byName[device]; dev != nil {
		if bridge := t.host.bridgeOf(dev); bridge != nil {
			return bridge.Name
		}
	}
	return ""
}

// Way is where routing sends a packet.
type Way struct {
	// Local: to the host itself. Out is the device that it leaves by, lo for packets of the host to itself, and empty for others to the
	// host.
	Local   bool
	Out     string
	NextHop netip.Addr
	Type    RouteType
	// ToMany says that it goes to a group, or to everybody on a link.
	ToMany bool
	Realms uint32
	// Reason says why the packet goes nowhere; empty: it does. With RejectWith the sender is told.
	Reason     Reason
	RejectWith string
	// NotKnown says what of the way is not known; empty: nothing.
	NotKnown string
}

// severalHops is what is not known of a route that chance decides.
const severalHops = "a route of several next hops"

// Enters says why a packet that comes in by a device does not reach PREROUTING; empty: it does.
func (t *Terrain) Enters(src, dst netip.Addr, in string) Reason {
	dev := t.host.byName[in]
	if dev == nil || !dev.Up {
		return ReasonDeviceDown
	}
	s := &skb{}
	s.Src, s.Dst = src, dst
	if err := checkReceive(s, dev); err != nil {
		return reasonOf(err)
	}
	return ""
}

func reasonOf(err error) Reason {
	reason, _ := err.(Reason)
	return reason
}

// RouteIn routes a packet that came in by a device and has passed PREROUTING, and makes the checks before FORWARD.
func (t *Terrain) RouteIn(src, dst netip.Addr, mark uint32, in string) Way {
	dev := t.host.byName[in]
	s := &skb{}
	s.Src, s.Dst, s.Mark, s.in = src, dst, mark, dev
	if !dst.IsMulticast() {
		f := flow{dst: dst, src: src, mark: mark, in: in}
		if t.six && (dst.IsLoopback() || dst.IsLinkLocalUnicast()) {
			f.out = in
		}
		if r, err := t.host.fib(dst).lookup(&f); err == nil && len(r.hops) > 0 {
			return Way{NotKnown: severalHops}
		}
	}
	to, err := t.host.routeInput(&s.Packet, dev, nil)
	if err == nil && !to.local && t.six {
		switch {
		case src.IsUnspecified() || src.IsLoopback():
			return Way{Reason: ReasonBadAddress}
		case src.IsLinkLocalUnicast():
			err = ReasonBeyondScope
		}
	}
	way := wayOf(to, err)
	if told, is := routeReasons[way.Reason]; is && (t.six || dev.conf.forwarding) {
		if way.RejectWith = told.with; t.six {
			way.RejectWith = told.with6
		}
	}
	return way
}

// RouteOut routes a packet that the host sends. With anySrc the source need not be the host's.
func (t *Terrain) RouteOut(src, dst netip.Addr, mark uint32, anySrc bool) (Way, netip.Addr) {
	f := flow{dst: dst, src: src, mark: mark, in: loopbackName}
	if !goesToMany(dst) {
		if r, err := t.host.fib(dst).lookup(&f); err == nil && len(r.hops) > 0 {
			return Way{NotKnown: severalHops}, src
		}
	}
	to, chosen, err := t.host.routeOutput(&f, anySrc)
	return wayOf(to, err), chosen
}

func wayOf(to path, err error) Way {
	if err != nil {
		if reason := reasonOf(err); reason != "" {
			return Way{Reason: reason}
		}
		return Way{NotKnown: err.Error()}
	}
	way := Way{Local: to.local, NextHop: to.nextHop, Type: to.typ, Realms: to.realms, ToMany: to.isToMany()}
	if to.out != nil {
		way.Out = to.out.Name
	}
	return way
}

// Returns says whether a reply to an address comes back to the host by a device out of which the packet went that it answers. direct says
// that who answers is a neighbour there.
func (t *Terrain) Returns(device string, direct bool, dst netip.Addr) bool {
	return direct && !t.host.isUplink(device) || t.host.isGatewayTo(dst)
}

// Tunnels says whether a device puts packets into others.
func (t *Terrain) Tunnels(device string) bool {
	dev := t.host.byName[device]
	return dev != nil && dev.VXLAN != nil
}

// HasType is -m addrtype of an address, on a device if one is given.
func (t *Terrain) HasType(addr netip.Addr, device string, types match.AddrTypeSet) bool {
	return t.host.addrHasType(addr, t.host.byName[device], types)
}

// MasqueradeAddr is the address that a packet by a device gets from MASQUERADE; invalid if there is none.
func (t *Terrain) MasqueradeAddr(out string, nextHop, dst netip.Addr) netip.Addr {
	if t.six {
		return t.host.selectAddr6(t.host.byName[out], dst)
	}
	return t.host.selectAddr(t.host.byName[out], nextHop, ScopeGlobal)
}

// RedirectAddr is the address that REDIRECT translates to at a hook; invalid if there is none.
func (t *Terrain) RedirectAddr(at netfilter.Hook, in string, dst netip.Addr) netip.Addr {
	s := &skb{hook: at, in: t.host.byName[in]}
	s.Dst = dst
	return redirectAddr(s)
}

// Cuts are the addresses at which an answer may change, ascending, with the first address of all: between two of them each answer is the
// same, but for
// the address itself as a next hop.
func (t *Terrain) Cuts() []netip.Addr {
	first := netip.IPv4Unspecified()
	if t.six {
		first = netip.IPv6Unspecified()
	}
	c := cuts{six: t.six, all: []netip.Addr{first}}
	c.addKnown()
	for _, d := range t.host.devices {
		for i := range d.Addresses {
			c.addDevice(&d.Addresses[i])
		}
	}
	for _, r := range t.host.routes {
		c.add(r.Dst)
	}
	for _, r := range t.host.fib(first).rules {
		c.add(r.From)
		c.add(r.To)
	}
	slices.SortFunc(c.all, netip.Addr.Compare)
	return slices.Compact(c.all)
}

// cuts are the ends of prefixes of a family.
type cuts struct {
	six bool
	all []netip.Addr
}

func (c *cuts) add(p netip.Prefix) {
	if !p.IsValid() || p.Addr().Is6() != c.six {
		return
	}
	c.all = append(c.all, p.Masked().Addr())
	if next := lastOf(p).Next(); next.IsValid() {
		c.all = append(c.all, next)
	}
}

// addKnown adds what has a meaning of its own.
func (c *cuts) addKnown() {
	for _, p := range [...]string{"0.0.0.0/32", "0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "224.0.0.0/24", "169.254.0.0/16",
		"255.255.255.255/32",
		"::/128", "::1/128", "ff00::/8", "fe80::/10"} {
		c.add(netip.MustParsePrefix(p))
	}
	c.add(siteLocal6)
	for _, l := range labels6 {
		c.add(l.prefix)
	}
}

// addDevice adds an address of a device, and those that are nearer to it than others, by which a source is chosen.
func (c *cuts) addDevice(a *Address) {
	addr := a.Prefix.Addr()
	c.add(a.Prefix)
	c.add(netip.PrefixFrom(addr, addr.BitLen()))
	if a.Broadcast.IsValid() {
		c.add(netip.PrefixFrom(a.Broadcast, a.Broadcast.BitLen()))
	}
	if addr.Is6() && !addr.IsLinkLocalUnicast() && !addr.IsLoopback() {
		for bits := range a.Prefix.Bits() {
			c.add(netip.PrefixFrom(addr, bits))
		}
	}
}

// lastOf is the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	raw := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(raw); bit++ {
		raw[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(raw)
	return last
}

// WayTo is the device by which the host sends packets to an address, as by its routes alone.
func (h *Host) WayTo(dst netip.Addr) (device string, err error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	r, err := h.fib(dst).lookup(&flow{dst: dst, in: loopbackName})
	if err != nil {
		return "", fmt.Errorf("host %s: way to %s: %w", h.name, dst, err)
	}
	return deviceName(r.first(&flow{dst: dst})), nil
}
