package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errNoLinkType = errors.New("packet: LinkType is not set: a rule asks for the kind of address that the packet came to")

// linkTypes are the kinds by the kernel's numbers.
var linkTypes = [...]inet.LinkType{
	fakeipt.PacketUnicast: inet.LinkUnicast, fakeipt.PacketBroadcast: inet.LinkBroadcast, fakeipt.PacketMulticast: inet.LinkMulticast,
}

// matchPktType is -m pkttype (net/netfilter/xt_pkttype.c).
func (mt *matcher) matchPktType(s *skb, m *fakeipt.MatchPktType) bool {
	kind := s.frameType()
	if kind == "" {
		mt.fail(errNoLinkType)
		return false
	}
	return (kind == linkTypes[m.Type]) != m.Invert
}
