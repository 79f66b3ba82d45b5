package rules

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/provenance"
)

// About is a packet that rules are about.
type About struct {
	Packet string `json:"packet"`
	// Of is what the rules call it: "shop/web:http", or a comment; empty if they say nothing.
	Of string `json:"of"`
}

// Bounds of the search for packets: so many rules are looked at, and so many packets are made.
const (
	lookedAt    = 200_000
	madePackets = 5_000
	deepest     = 12
)

// packetsOf makes packets from what the rules ask for: along every way of jumps from a hook, one for each rule that ends there or changes
// the packet. Those of services stand first, then those of other rules, each in the order of the rules.
func packetsOf(tables []table, local []netip.Addr) []About {
	f := finder{local: local, seen: map[string]int{}, left: lookedAt}
	families := map[netfilter.Family]bool{}
	for i := range tables {
		f.table, f.family = &tables[i], tables[i].family
		families[f.family] = true
		for chain := range f.table.chains {
			if chain.base {
				f.hook = chain.hook
				f.chain(chain, wanted{}, 0)
			}
		}
	}
	for _, family := range netfilter.Families() {
		if families[family] {
			f.family = family
			f.plain()
		}
	}
	slices.SortStableFunc(f.found, func(a, b found) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]About, len(f.found))
	for i := range f.found {
		out[i] = f.found[i].About
	}
	return out
}

// wanted is what the rules on the way ask of a packet.
type wanted struct {
	src, dst netip.Prefix
	in       string
	protocol uint8
	port     uint16
	local    bool // the destination is the node's own
	of       string
	service  bool
}

type found struct {
	About
	rank int
}

// plain makes the packets that no rule names: through the node, to it and from it.
func (f *finder) plain() {
	for _, hook := range []netfilter.Hook{netfilter.Forward, netfilter.Input, netfilter.Output} {
		f.hook = hook
		if packet, ok := f.packet(wanted{}); ok {
			if _, again := f.seen[packet]; !again {
				f.seen[packet] = len(f.found)
				f.found = append(f.found, found{About{packet, "no rule names it"}, 2})
			}
		}
	}
}

// finder goes along the jumps of a table.
type finder struct {
	family netfilter.Family
	table  *table
	hook   netfilter.Hook
	local  []netip.Addr
	found  []found
	seen   map[string]int // packets, by their place in found
	left   int
}

func (f *finder) chain(c chain, w wanted, depth int) {
	if depth > deepest {
		return
	}
	for fact := range c.facts {
		if f.left--; f.left < 0 || len(f.found) >= madePackets {
			return
		}
		next, possible := w.and(c.name, f.table.name, &fact)
		if !possible {
			continue
		}
		if fact.Jump != "" {
			if to, there := f.table.chain(fact.Jump); there {
				f.chain(to, next, depth+1)
			}
			continue
		}
		if fact.HasTarget() {
			f.make(next)
		}
	}
}

// and is what is asked for where a rule holds too; false if no packet has both.
func (w wanted) and(chain, table string, fact *netfilter.Fact) (wanted, bool) {
	c := &fact.Conditions
	var ok [2]bool
	w.src, ok[0] = narrower(w.src, c.Src)
	w.dst, ok[1] = narrower(w.dst, c.Dst)
	if !ok[0] || !ok[1] || w.protocol != 0 && c.Protocol != 0 && w.protocol != c.Protocol || w.in != "" && c.In != "" && w.in != c.In {
		return w, false
	}
	if w.port != 0 && c.DstPorts.Min != 0 && (w.port < c.DstPorts.Min || w.port > c.DstPorts.Max) {
		return w, false
	}
	w.protocol, w.in, w.port = cmp.Or(w.protocol, c.Protocol), cmp.Or(w.in, c.In), cmp.Or(w.port, c.DstPorts.Min)
	w.local = w.local || c.AsksFor("addrtype") || c.AsksFor("fib")
	if port := provenance.ServicePortOf(table, chain, fact); port != "" {
		w.of, w.service = string(port), true
	} else if !w.service {
		w.of = cmp.Or(provenance.Comment(fact), w.of)
	}
	return w, true
}

// narrower is the smaller of two ranges, one of which has the other; false if they have nothing in common.
func narrower(a, b netip.Prefix) (netip.Prefix, bool) {
	switch {
	case !a.IsValid():
		return b, true
	case !b.IsValid():
		return a, true
	case !a.Overlaps(b):
		return a, false
	case a.Bits() >= b.Bits():
		return a, true
	}
	return b, true
}

// make keeps the packet that has what is wanted, if there can be one that begins a connection.
func (f *finder) make(w wanted) {
	if !w.dst.IsValid() && w.port == 0 && !w.src.IsValid() {
		return // a rule about no packet of its own
	}
	packet, ok := f.packet(w)
	if !ok {
		return
	}
	rank := 1
	if w.service {
		rank = 0
	}
	if at, again := f.seen[packet]; again {
		if f.found[at].rank > rank || f.found[at].Of == "" {
			f.found[at].Of, f.found[at].rank = cmp.Or(w.of, f.found[at].Of), min(rank, f.found[at].rank)
		}
		return
	}
	f.seen[packet] = len(f.found)
	f.found = append(f.found, found{About{packet, w.of}, rank})
}

// packet writes a packet down.
func (f *finder) packet(w wanted) (string, bool) {
	protocol := inet.Proto(cmp.Or(w.protocol, uint8(inet.TCP)))
	isLocal := f.hook == netfilter.Output
	src, ok := f.source(w, isLocal)
	if !ok {
		return "", false
	}
	dst, ok := f.destination(w)
	if !ok {
		return "", false
	}
	from, to := src.String(), dst.String()
	switch protocol {
	case inet.TCP, inet.UDP, inet.SCTP:
		from = netip.AddrPortFrom(src, 40000).String()
		to = netip.AddrPortFrom(dst, cmp.Or(w.port, 80)).String()
	}
	text := protocol.String() + " " + from + " > " + to
	switch {
	case isLocal:
		text += " local"
	case w.in == "" || w.in[len(w.in)-1] == '+':
		text += " in " + cmp.Or(trimPlus(w.in), snapshot.RulesDevice)
	default:
		text += " in " + w.in
	}
	in, err := inet.ParseInput(text)
	return in.String(), err == nil
}

// trimPlus makes a device of a pattern: "cali+" becomes cali0.
func trimPlus(pattern string) string {
	if pattern == "" || pattern == "+" {
		return ""
	}
	return pattern[:len(pattern)-1] + strconv.Itoa(0)
}

// source is an address that a packet comes from: one outside unless rules say otherwise.
func (f *finder) source(w wanted, isLocal bool) (netip.Addr, bool) {
	switch own := f.ownAddress(); {
	case w.src.IsValid():
		return one(w.src), true
	case isLocal:
		return own, own.IsValid()
	case f.family == netfilter.IPv6:
		return netip.MustParseAddr("2001:db8::10"), true
	}
	return netip.MustParseAddr("198.51.100.10"), true
}

func (f *finder) destination(w wanted) (netip.Addr, bool) {
	own := f.ownAddress()
	switch {
	case w.dst.IsValid():
		return one(w.dst), true
	case w.local || f.hook == netfilter.Input:
		return own, own.IsValid()
	case f.family == netfilter.IPv6:
		return netip.MustParseAddr("2001:db8::80"), true
	}
	return netip.MustParseAddr("203.0.113.80"), true
}

// ownAddress is the node's, if it is known.
func (f *finder) ownAddress() netip.Addr {
	for _, addr := range f.local {
		if inet.FamilyOf(addr) == f.family {
			return addr
		}
	}
	return netip.Addr{}
}

// one is an address of a range: the range's own if it has no other, else the one behind it.
func one(p netip.Prefix) netip.Addr {
	if p.IsSingleIP() {
		return p.Addr()
	}
	if next := p.Masked().Addr().Next(); p.Contains(next) {
		return next
	}
	return p.Addr()
}
