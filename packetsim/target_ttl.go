package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// changeTTL is -j TTL and -j HL (net/netfilter/xt_HL.c).
func changeTTL(s *skb, t *target.TTL) {
	ttl := s.HopLimit()
	switch t.Change {
	case target.TTLDecrement:
		ttl -= min(ttl, t.Value)
	case target.TTLIncrement:
		ttl += min(255-ttl, t.Value)
	default:
		ttl = t.Value
	}
	s.SetHopLimit(ttl)
}
