package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchLength is -m length (net/netfilter/xt_length.c).
func matchLength(s *skb, m *fakeipt.MatchLength) bool {
	size := s.Size()
	return (int(m.Min) <= size && size <= int(m.Max)) != m.Invert
}
