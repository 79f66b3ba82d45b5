package packetsim

import (
	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// tproxy is -j TPROXY (net/netfilter/xt_TPROXY.c): the packet gets the mark and goes on, to be routed to the socket by it. Without a
// transparent socket it is dropped.
func (tg *targets) tproxy(s *skb, t *target.TPROXY) fate {
	if s.Proto != inet.TCP && s.Proto != inet.UDP {
		return stopped
	}
	if s.Socket == nil {
		tg.fail(errNoSocket)
		return stopped
	}
	if s.Socket.None || !s.Socket.Transparent {
		tg.drop(ReasonNoTransparentSocket)
		return stopped
	}
	s.Mark = s.Mark&^t.MarkMask ^ t.MarkValue
	return accepted
}
