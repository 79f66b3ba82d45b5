package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// netmap is -j NETMAP: the bits of the address under the mask become those of the target, of the destination in PREROUTING and
// OUTPUT and of the source in the other hooks (net/netfilter/xt_NETMAP.c).
func (w *walk) netmap(s *skb, t *fakeipt.TargetNetmap) fate {
	if s.hook == preRouting || s.hook == output {
		addr := mapAddr(s.Dst, t.Addr, t.Mask)
		return w.bindDst(s, fakeipt.NATRange{MinAddr: addr, MaxAddr: addr})
	}
	addr := mapAddr(s.Src, t.Addr, t.Mask)
	return w.bindSrc(s, fakeipt.NATRange{MinAddr: addr, MaxAddr: addr})
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
