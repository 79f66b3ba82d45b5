package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

// matchIPRange is -m iprange (net/netfilter/xt_iprange.c).
func matchIPRange(s *skb, m *match.IPRange) bool {
	return rangeMatches(m.Src, s.Src) && rangeMatches(m.Dst, s.Dst)
}

func rangeMatches(r *match.AddrRange, addr netip.Addr) bool {
	return r == nil || r.Contains(addr) != r.Invert
}
