package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchMultiport is -m multiport.
func matchMultiport(s *skb, m *match.Multiport) bool {
	if !s.Proto.HasPorts() {
		return false
	}
	for _, r := range m.Ports {
		if m.Side != match.MultiportDest && r.Contains(s.SrcPort) || m.Side != match.MultiportSource && r.Contains(s.DstPort) {
			return !m.Invert
		}
	}
	return m.Invert
}
