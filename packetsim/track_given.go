package packetsim

import "github.com/chainwalk/chainwalk/packetsim/conntrack"

// PacketState is what a packet is to conntrack.
type PacketState uint8

// The states that a walk can be told to take a packet in. The connections that they speak of are none of the host's: each has both
// directions seen, NAT translates none, and they have no mark, label or counter.
const (
	// StateFound is whatever conntrack finds when it looks at the packet.
	StateFound PacketState = iota
	// StateEstablished is that of a packet of the sender of a connection, StateReplying that of one in answer to it.
	StateEstablished
	StateReplying
	// StateRelated is that of an ICMP error about a connection, whose packet need not be told.
	StateRelated
	// StateInvalid is that of a packet that conntrack does not understand, StateUntracked that of one that it leaves alone.
	StateInvalid
	StateUntracked
)

// takeGiven is what trackStep does with a packet whose state the walk was told (WalkOptions.State). It is false if conntrack is to look.
func (k *packetTracker) takeGiven(s *skb) bool {
	switch s.given {
	case StateFound:
		return false
	case StateInvalid:
		return true
	case StateUntracked:
		s.relation = isUntracked
		return true
	}
	first := conntrack.TupleOf(&s.Packet)
	s.dir, s.relation = conntrack.Original, isEstablished
	switch s.given {
	case StateReplying:
		first, s.dir = first.Inverse(), conntrack.Reply
	case StateRelated:
		s.relation = isRelated
	}
	s.conn = k.conns.Ongoing(first, s.zone)
	return true
}
