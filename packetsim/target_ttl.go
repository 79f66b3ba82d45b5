package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt"
)

// changeTTL is -j TTL and -j HL (net/netfilter/xt_HL.c).
func changeTTL(s *skb, t *fakeipt.TargetTTL) {
	ttl := s.hopLimit()
	switch t.Change {
	case fakeipt.TTLDecrement:
		ttl -= min(ttl, t.Value)
	case fakeipt.TTLIncrement:
		ttl += min(255-ttl, t.Value)
	default:
		ttl = t.Value
	}
	s.TTL, s.spent = ttl, ttl == 0
}

// errSpent is a packet whose TTL would stand for none in the Outcome.
var errSpent = errors.New("not supported: a packet that leaves with TTL 0")
