package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
)

// snat is -j SNAT.
func (w *walk) snat(s *skb, to netfilter.NATRange) fate {
	return w.bind(s, natSrc, &natRange{NATRange: to})
}

// masquerade is -j MASQUERADE: SNAT to an address of the device that the packet leaves by (net/netfilter/nf_nat_masquerade.c).
func (w *walk) masquerade(s *skb, to netfilter.NATRange) fate {
	if s.conn == nil {
		return stopped
	}
	if s.Src.IsUnspecified() {
		return accepted
	}
	var addr netip.Addr
	if s.Is6() {
		addr = w.h.selectAddr6(s.out, s.Dst)
	} else {
		addr = w.h.selectAddr(s.out, s.path.nextHop, ScopeGlobal)
	}
	if !addr.IsValid() {
		w.drop("no address to masquerade with on " + s.out.Name)
		return stopped
	}
	to.MinAddr, to.MaxAddr = addr, addr
	w.h.change(s.conn)
	s.conn.masqueradeDev = s.out.Name
	return w.snat(s, to)
}
