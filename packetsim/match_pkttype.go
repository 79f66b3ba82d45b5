package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/match"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var errNoLinkType = errors.New(
	`packet: a rule asks for the kind of link-layer address that it came to: add "link unicast", "link broadcast" or "link multicast"`)

// linkTypes are the kinds by the kernel's numbers.
var linkTypes = [...]inet.LinkType{
	match.PacketUnicast: inet.LinkUnicast, match.PacketBroadcast: inet.LinkBroadcast, match.PacketMulticast: inet.LinkMulticast,
}

// matchPktType is -m pkttype (net/netfilter/xt_pkttype.c).
func (mt *matcher) matchPktType(s *skb, m *match.PktType) bool {
	kind := s.frameType()
	if kind == "" {
		mt.fail(errNoLinkType)
		return false
	}
	return (kind == linkTypes[m.Type]) != m.Invert
}
