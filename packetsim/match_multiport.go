package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchMultiport is -m multiport.
func matchMultiport(s *skb, m *fakeipt.MatchMultiport) bool {
	if !s.Proto.HasPorts() {
		return false
	}
	for _, r := range m.Ports {
		if m.Side != fakeipt.MultiportDest && r.Contains(s.SrcPort) || m.Side != fakeipt.MultiportSource && r.Contains(s.DstPort) {
			return !m.Invert
		}
	}
	return m.Invert
}
