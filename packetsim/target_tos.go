package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// changeTOS is -j TOS (net/netfilter/xt_DSCP.c).
func changeTOS(s *skb, t *target.TOS) { s.TOS = s.TOS&^t.Mask ^ t.Value }

// changeDSCP is -j DSCP (net/netfilter/xt_DSCP.c).
func changeDSCP(s *skb, t *target.DSCP) { s.TOS = s.TOS&ecnBits | t.Value<<dscpShift }

// changeECN is -j ECN (net/ipv4/netfilter/ipt_ECN.c).
func changeECN(s *skb, t *target.ECN) {
	if t.HasECT {
		s.TOS = s.TOS&^ecnBits | t.ECT
	}
	if s.Proto != inet.TCP {
		return
	}
	if t.HasECE {
		s.TCPFlags = s.TCPFlags.With(inet.ECE, t.ECE)
	}
	if t.HasCWR {
		s.TCPFlags = s.TCPFlags.With(inet.CWR, t.CWR)
	}
}
