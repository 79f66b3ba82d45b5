package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchTTL is -m ttl and -m hl (net/netfilter/xt_hl.c).
func matchTTL(s *skb, m *fakeipt.MatchTTL) bool {
	ttl := s.HopLimit()
	switch m.Comparison {
	case fakeipt.TTLNotEqual:
		return ttl != m.Value
	case fakeipt.TTLLess:
		return ttl < m.Value
	case fakeipt.TTLGreater:
		return ttl > m.Value
	}
	return ttl == m.Value
}
