package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// dnat is -j DNAT. basePort is what the ports of a shifted range are offsets from, else 0.
func (tg *targets) dnat(s *skb, to netfilter.NATRange, basePort uint16) fate {
	return tg.bind(s.conn, conntrack.Destination, &conntrack.Range{NATRange: to, BasePort: basePort})
}

// dnatTo is dnat to one address and one port.
func (tg *targets) dnatTo(c *conntrack.Conn, address netip.Addr, port uint16) fate {
	if c == nil {
		return stopped
	}
	tg.conns.BindTo(c, address, port, tg.chance)
	return accepted
}

// redirect is -j REDIRECT: to the loopback address for the host's own packets, else to an address of
// the device that they came in by (net/netfilter/nf_nat_redirect.c).
func (tg *targets) redirect(s *skb, to netfilter.NATRange) fate {
	to.MinAddr = redirectAddr(s)
	to.MaxAddr = to.MinAddr
	if !to.MinAddr.IsValid() {
		return stopped
	}
	return tg.dnat(s, to, 0)
}

func redirectAddr(s *skb) netip.Addr {
	if s.hook == output {
		if s.Is6() {
			return netip.IPv6Loopback()
		}
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	for i := range s.in.Addresses {
		addr := s.in.Addresses[i].Prefix.Addr()
		if addr.Is4() && s.Dst.Is4() || addr.Is6() && s.Is6() && scopeOf6(addr) == scopeOf6(s.Dst) {
			return addr
		}
	}
	return netip.Addr{}
}

// bind decides a side of the packet's connection. A packet without one is dropped.
func (tg *targets) bind(c *conntrack.Conn, side conntrack.Side, to *conntrack.Range) fate {
	if c == nil {
		return stopped
	}
	tg.conns.Bind(c, side, to, tg.chance)
	return accepted
}
