package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// changeTTL is -j TTL and -j HL (net/netfilter/xt_HL.c).
func changeTTL(s *skb, t *fakeipt.TargetTTL) {
	ttl := s.HopLimit()
	switch t.Change {
	case fakeipt.TTLDecrement:
		ttl -= min(ttl, t.Value)
	case fakeipt.TTLIncrement:
		ttl += min(255-ttl, t.Value)
	default:
		ttl = t.Value
	}
	s.SetHopLimit(ttl)
}
