package packetsim

import "net/netip"

// selectAddr is an IPv4 address of the device that is valid at the scope, best one in the next
// hop's subnet; without one, an address of another device (inet_select_addr in net/ipv4/devinet.c). It may be none.
func (h *routing) selectAddr(dev *device, nextHop netip.Addr, scope Scope) netip.Addr {
	limit := scope.distance()
	nearest := ScopeHost.distance()
	if dev.conf.routeLocalnet {
		nearest = ScopeLink.distance()
	}
	var first netip.Addr
	for i := range dev.Addresses {
		a := &dev.Addresses[i]
		if !a.Prefix.Addr().Is4() || a.Secondary || min(a.scope().distance(), nearest) > limit {
			continue
		}
		if !nextHop.IsValid() || a.Prefix.Contains(nextHop) {
			return a.Prefix.Addr()
		}
		if !first.IsValid() {
			first = a.Prefix.Addr()
		}
	}
	if first.IsValid() {
		return first
	}
	for _, other := range h.devices {
		for i := range other.Addresses {
			a := &other.Addresses[i]
			if other.Up && a.Prefix.Addr().Is4() && !a.Secondary && a.scope() != ScopeLink && a.scope().distance() <= limit {
				return a.Prefix.Addr()
			}
		}
	}
	return netip.Addr{}
}

// selectAddr6 is the source address for a destination by RFC 6724 section 5, rules 1, 2, 3, 5, 6 and 8
// (ipv6_dev_get_saddr in net/ipv6/addrconf.c). It may be none.
func (h *routing) selectAddr6(out *device, dst netip.Addr) netip.Addr {
	onlyOut := dst.IsMulticast() || dst.IsLinkLocalUnicast()
	var best candidate6
	for _, dev := range h.devices {
		if !dev.Up || (onlyOut && dev != out) {
			continue
		}
		for i := range dev.Addresses {
			a := &dev.Addresses[i]
			if !a.Prefix.Addr().Is6() {
				continue
			}
			c := newCandidate6(a, dev == out, dst)
			if !best.addr.IsValid() || c.betterThan(&best) {
				best = c
			}
		}
	}
	return best.addr
}

// candidate6 is an address with the values that the rules compare, larger being better.
type candidate6 struct {
	addr   netip.Addr
	scores [6]int
}

func newCandidate6(a *Address, onOut bool, dst netip.Addr) candidate6 {
	addr := a.Prefix.Addr()
	scope := scopeOf6(addr)
	if want := scopeOf6(dst); scope >= want {
		scope = -scope // appropriate: the smallest is best
	} else {
		scope -= 128 // too small: the largest is best
	}
	return candidate6{addr, [6]int{
		score(addr == dst), scope, score(!a.Deprecated), score(onOut), score(label6(addr) == label6(dst)),
		min(commonBits(addr, dst), a.Prefix.Bits()),
	}}
}

func (c *candidate6) betterThan(other *candidate6) bool {
	for i := range c.scores {
		if c.scores[i] != other.scores[i] {
			return c.scores[i] > other.scores[i]
		}
	}
	return false
}

func score(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// scopeOf6 is the scope of an IPv6 address by the numbers of RFC 4291.
func scopeOf6(addr netip.Addr) int {
	switch {
	case addr.IsMulticast():
		return int(addr.As16()[1] & 0xf)
	case addr.IsLoopback(), addr.IsLinkLocalUnicast():
		return 2
	case siteLocal6.Contains(addr):
		return 5
	}
	return 14
}

var siteLocal6 = netip.MustParsePrefix("fec0::/10")

// labels6 is the kernel's default policy table (net/ipv6/addrlabel.c), the longest prefixes first.
var labels6 = [...]struct {
	prefix netip.Prefix
	label  int
}{
	{netip.MustParsePrefix("::1/128"), 0},
	{netip.MustParsePrefix("::ffff:0:0/96"), 4},
	{netip.MustParsePrefix("::/96"), 3},
	{netip.MustParsePrefix("2001::/32"), 6},
	{netip.MustParsePrefix("2001:10::/28"), 7},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("3ffe::/16"), 12},
	{netip.MustParsePrefix("fec0::/10"), 11},
	{netip.MustParsePrefix("fc00::/7"), 5},
}

func label6(addr netip.Addr) int {
	for _, l := range labels6 {
		if l.prefix.Contains(addr) {
			return l.label
		}
	}
	return 1
}

// commonBits is the length of the prefix that two IPv6 addresses share.
func commonBits(a, b netip.Addr) int {
	x, y := a.As16(), b.As16()
	bits := 0
	for i := range x {
		diff := x[i] ^ y[i]
		if diff == 0 {
			bits += 8
			continue
		}
		for diff&0x80 == 0 {
			diff <<= 1
			bits++
		}
		break
	}
	return bits
}
