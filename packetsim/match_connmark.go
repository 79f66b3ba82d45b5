package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchConnmark is -m connmark (net/netfilter/xt_connmark.c). A packet without a connection does not match, negated or not.
func matchConnmark(s *skb, m *match.Connmark) bool {
	return s.conn != nil && (s.conn.Mark&m.Mask == m.Value) != m.Invert
}
