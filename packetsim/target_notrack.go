package packetsim

// notrack is -j NOTRACK: conntrack leaves the packet alone, unless it has seen it already.
func notrack(s *skb) fate {
	if s.conn == nil && !s.attached {
		s.relation = isUntracked
	}
	return goOn
}
