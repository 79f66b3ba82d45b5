package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
)

// netmap is -j NETMAP: the bits of the address under the mask become those of to, of the destination in PREROUTING and
// OUTPUT and of the source in the other hooks (net/netfilter/xt_NETMAP.c).
func (tg *targets) netmap(s *skb, to, mask netip.Addr) fate {
	if s.hook == preRouting || s.hook == output {
		addr := mapAddr(s.Dst, to, mask)
		return tg.dnat(s, netfilter.NATRange{MinAddr: addr, MaxAddr: addr}, 0)
	}
	addr := mapAddr(s.Src, to, mask)
	return tg.snat(s, netfilter.NATRange{MinAddr: addr, MaxAddr: addr})
}

// mapAddr takes the bits under the mask from to, and the others from addr.
func mapAddr(addr, to, mask netip.Addr) netip.Addr {
	raw, network, bits := addr.AsSlice(), to.AsSlice(), mask.AsSlice()
	for i := range raw {
		raw[i] = raw[i]&^bits[i] | network[i]&bits[i]
	}
	mapped, _ := netip.AddrFromSlice(raw)
	return mapped
}
