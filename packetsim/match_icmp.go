package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchICMP is -m icmp and -m icmp6.
func matchICMP(s *skb, m *match.ICMP) bool {
	if !s.Proto.IsICMP() {
		return false
	}
	holds := m.Any || (s.ICMPType == m.Type && m.CodeMin <= s.ICMPCode && s.ICMPCode <= m.CodeMax)
	return holds != m.Invert
}
