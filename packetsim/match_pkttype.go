package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
)

var errNoLinkType = errors.New("packet: LinkType is not set: a rule asks for the kind of address that the packet came to")

// linkTypes are the kinds by the kernel's numbers.
var linkTypes = [...]LinkType{
	match.PacketUnicast: LinkUnicast, match.PacketBroadcast: LinkBroadcast, match.PacketMulticast: LinkMulticast,
}

// matchPktType is -m pkttype (net/netfilter/xt_pkttype.c).
func (w *walk) matchPktType(s *skb, m *match.PktType) bool {
	kind := s.frameType()
	if kind == "" {
		w.fail(errNoLinkType)
		return false
	}
	return (kind == linkTypes[m.Type]) != m.Invert
}
