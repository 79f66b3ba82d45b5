package packetsim

import "github.com/chainwalk/chainwalk/fakeipt/target"

// tproxy is -j TPROXY (net/netfilter/xt_TPROXY.c): the packet gets the mark and goes on, to be routed to the socket by it. Without a
// transparent socket it is dropped.
func (w *walk) tproxy(s *skb, t *target.TPROXY) fate {
	if s.Proto != TCP && s.Proto != UDP {
		return stopped
	}
	if s.Socket == nil {
		w.fail(errNoSocket)
		return stopped
	}
	if s.Socket.None || !s.Socket.Transparent {
		w.drop("no transparent socket for TPROXY")
		return stopped
	}
	s.Mark = s.Mark&^t.MarkMask ^ t.MarkValue
	return accepted
}
