package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// ecnBits are the bits of Packet.TOS that tell of congestion; the others are the code point of the service.
const (
	ecnBits   = 0x03
	dscpShift = 2
)

// matchTOS is -m tos (net/netfilter/xt_dscp.c).
func matchTOS(s *skb, m *match.TOS) bool { return (s.TOS&m.Mask == m.Value) != m.Invert }

// matchDSCP is -m dscp (net/netfilter/xt_dscp.c).
func matchDSCP(s *skb, m *match.DSCP) bool { return (s.TOS>>dscpShift == m.Value) != m.Invert }

// matchECN is -m ecn (net/netfilter/xt_ecn.c).
func matchECN(s *skb, m *match.ECN) bool {
	if m.HasECT && (s.TOS&ecnBits == m.ECT) == m.InvECT {
		return false
	}
	if m.ECE && (s.TCPFlags&inet.ECE != 0) == m.InvECE {
		return false
	}
	return !m.CWR || (s.TCPFlags&inet.CWR != 0) != m.InvCWR
}
