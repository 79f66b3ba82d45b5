package packetsim

import (
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// skb is a packet on its way (struct sk_buff): the header as it is now, and what the kernel keeps beside it.
type skb struct {
	inet.Packet
	hook     hook
	hooks    *rulesetHooks
	in, out  *device       // as the hook sees them
	came     *device       // by which the packet, or what it is a copy of, came to the host
	isCopy   bool          // TEE made it
	held     *device       // that had what it is a copy of
	copyOf   inet.LinkType // the frame type of what it is a copy of
	conn     *conntrack.Conn
	dir      conntrack.Direction
	relation relation
	given    PacketState    // that the walk was told
	zone     conntrack.Zone // that conntrack looks for it in
	helper   string         // that conntrack gives its connection, if that is new
	path     path
	routed   bool // path holds the route
	local    bool // the host made the packet
	sums     sums
	attached bool // it answers a packet that conntrack left alone, so that -j CT takes it for one that was seen
	bridged  bridged
	padding  int  // bytes of TCP options that were written over
	noMSS    bool // the option for the greatest segment was
	shared   bool // it is the host's own copy of what it sends to many, with the same bytes
	looped   bool // and has come in
	drawn    bool // it is a copy of a packet whose source port the kernel chose
}

// frameType is the kind of link-layer address that the packet came to (pkt_type). A copy of TEE keeps that of what it copies. The host's
// own packets count as unicast, but for its copies of what it sends to many. It is empty where the packet does not tell.
func (s *skb) frameType() inet.LinkType {
	switch {
	case s.looped && s.Dst.IsMulticast():
		return inet.LinkMulticast
	case s.looped:
		return inet.LinkBroadcast
	case s.isCopy:
		return s.copyOf
	case s.local:
		return inet.LinkUnicast
	}
	return s.LinkType
}

// cameToMany says whether the packet came in a frame to several machines, or is a copy of one that did.
func (s *skb) cameToMany() bool {
	kind := s.frameType()
	return kind == inet.LinkBroadcast || kind == inet.LinkMulticast
}
