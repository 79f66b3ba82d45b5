package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchTTL is -m ttl and -m hl (net/netfilter/xt_hl.c).
func matchTTL(s *skb, m *match.TTL) bool {
	ttl := s.HopLimit()
	switch m.Comparison {
	case match.TTLNotEqual:
		return ttl != m.Value
	case match.TTLLess:
		return ttl < m.Value
	case match.TTLGreater:
		return ttl > m.Value
	}
	return ttl == m.Value
}
