package packetsim

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

// matchRPFilter is -m rpfilter (net/ipv4/netfilter/ipt_rpfilter.c and its IPv6 twin).
func (mt *matcher) matchRPFilter(s *skb, m *match.RPFilter) bool {
	switch {
	case s.in == nil, s.in.Name == loopbackName, s.looped,
		s.Is6() && s.Src.IsUnspecified(),
		s.Src.Is4() && s.Src.As4()[0] == 0 && s.Dst == limitedBroadcast:
		return !m.Invert
	}
	return mt.routes.reversePath(s, m) != m.Invert
}

// reversePath says whether a packet to the source would leave by the device that this one came in by.
func (h *routing) reversePath(s *skb, m *match.RPFilter) bool {
	back := flow{dst: s.Src, src: s.Dst, in: loopbackName}
	if s.Dst == limitedBroadcast {
		back.src = netip.IPv4Unspecified()
	}
	if m.ValidMark {
		back.mark = s.Mark
	}
	if s.Is6() && s.Src.IsLinkLocalUnicast() {
		back.out = s.in.Name
	}
	r, err := h.fib(s.Src).lookup(&back)
	if err != nil {
		return false
	}
	switch r.Type {
	case RouteLocal:
		if s.Is6() {
			return m.AcceptLocal
		}
		if !m.AcceptLocal {
			return false
		}
	case RouteUnicast:
	default:
		return false
	}
	return m.Loose || r.uses(s.in)
}
