package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/match"

// matchPhysdev is -m physdev (net/netfilter/xt_physdev.c). A packet that br_netfilter did not see has no physical devices.
func matchPhysdev(s *skb, m *match.Physdev) bool {
	if !s.bridged.seen {
		return (m.In == nil || m.In.Invert) && (m.Out == nil || m.Out.Invert) &&
			(!m.IsIn || m.InvIsIn) && (!m.IsOut || m.InvIsOut) && (!m.IsBridged || m.InvIsBridged)
	}
	b := &s.bridged
	if m.IsBridged && (b.out != nil) == m.InvIsBridged ||
		m.IsIn && (b.in != nil) == m.InvIsIn ||
		m.IsOut && (b.out != nil) == m.InvIsOut {
		return false
	}
	return deviceMatches(m.In, b.in) && (m.Out == nil || b.out != nil && deviceMatches(m.Out, b.out))
}
