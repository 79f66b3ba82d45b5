package packetsim

// notrack is -j NOTRACK: conntrack leaves the packet alone, unless it has seen it already.
func notrack(s *packet) fate {
	if s.conn == nil {
		s.relation = isUntracked
	}
	return goOn
}
