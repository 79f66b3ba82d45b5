package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchLength is -m length (net/netfilter/xt_length.c).
func matchLength(s *skb, m *match.Length) bool {
	size := s.Size()
	return (int(m.Min) <= size && size <= int(m.Max)) != m.Invert
}
