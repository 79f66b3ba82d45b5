package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// snat is -j SNAT.
func (tg *targets) snat(s *skb, to netfilter.NATRange) fate {
	return tg.bind(s.conn, conntrack.Source, &conntrack.Range{NATRange: to})
}

// masquerade is -j MASQUERADE: SNAT to an address of the device that the packet leaves by (net/netfilter/nf_nat_masquerade.c).
func (tg *targets) masquerade(s *skb, to netfilter.NATRange) fate {
	if s.conn == nil {
		return stopped
	}
	if s.Src.IsUnspecified() {
		return accepted
	}
	var addr netip.Addr
	if s.Is6() {
		addr = tg.routes.selectAddr6(s.out, s.Dst)
	} else {
		addr = tg.routes.selectAddr(s.out, s.path.nextHop, ScopeGlobal)
	}
	if !addr.IsValid() {
		tg.dropSaying(ReasonNoMasqueradeAddress, "no address to masquerade with on "+s.out.Name)
		return stopped
	}
	tg.conns.Change(s.conn)
	s.conn.MasqueradeDev = s.out.Name
	if (to.Random || to.RandomFully) && !to.HasPorts && to.MinPort == 0 && to.MaxPort == 0 {
		tg.conns.BindFrom(s.conn, addr, tg.chance)
		return accepted
	}
	to.MinAddr, to.MaxAddr = addr, addr
	return tg.snat(s, to)
}
