package packetsim

import "github.com/chainwalk/chainwalk/fakeipt"

// matchICMP is -m icmp and -m icmp6.
func matchICMP(s *skb, m *fakeipt.MatchICMP) bool {
	if !s.Proto.IsICMP() {
		return false
	}
	holds := m.Any || (s.ICMPType == m.Type && m.CodeMin <= s.ICMPCode && s.ICMPCode <= m.CodeMax)
	return holds != m.Invert
}
