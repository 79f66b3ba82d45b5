package packetsim

import (
	"errors"

	"github.com/chainwalk/chainwalk/packetsim/conntrack"
)

// relation is what a packet is to its connection (enum ip_conntrack_info, without the direction).
type relation uint8

const (
	isInvalid relation = iota // no connection
	isUntracked
	isNew
	isEstablished
	isRelated
)

// packetTracker is conntrack at the hooks: it finds the connections of a walk's packets.
type packetTracker struct {
	*course
	conns *conntrack.Tracker
}

// track is trackStep, and tells what conntrack found. It is false if the packet goes no further.
func (k *packetTracker) track(s *skb) bool {
	known := s.conn != nil && s.conn.Template == nil
	if !k.trackStep(s) || k.err != nil {
		return false
	}
	if k.tellsEvents() && !known {
		k.tellTracked(s)
	}
	return true
}

// tellTracked tells what conntrack found.
func (k *packetTracker) tellTracked(s *skb) {
	e := Event{Kind: EventConntrack, State: stateNames[s.relation]}
	if s.conn != nil {
		e.Reply = s.dir == conntrack.Reply
		if s.conn.Confirmed {
			e.Entry = k.conns.EntryOf(s.conn)
		}
	}
	k.tell(e)
}

// trackStep is conntrack's look at a packet (nf_conntrack_in). A packet that it has seen, on its first
// pass through the host, keeps its connection.
//
// It is false if the packet goes no further.
func (k *packetTracker) trackStep(s *skb) bool {
	s.takeTemplate()
	switch {
	case s.conn != nil || s.relation == isUntracked:
		return true
	case k.takeGiven(s):
		return true
	case k.conns.LooksAtChecksums() && s.hook == preRouting && !s.sumHolds():
		return true
	case s.IsICMPError():
		k.trackError(s)
		return true
	case conntrack.ICMPUntracked(s.Proto, s.ICMPType):
		s.relation = isUntracked
		return true
	}
	c, dir, verdict := k.conns.Look(&s.Packet, s.zone, s.helper, k.chance)
	switch verdict {
	case conntrack.Full:
		k.drop(ReasonConntrackFull)
		return false
	case conntrack.Accept:
		s.conn, s.dir, s.relation = c, dir, isNew
		if c.SeenReply {
			s.relation = isEstablished
		}
	}
	return true
}

// trackError relates an ICMP error to the connection of the packet that it quotes (nf_conntrack_inet_error).
func (k *packetTracker) trackError(s *skb) {
	if s.Inner == nil {
		k.fail(errNoInner)
		return
	}
	answer, ok := conntrack.TupleOf(s.Inner).Answer()
	if !ok {
		return
	}
	c, dir := k.conns.Find(&answer, s.zone)
	if c == nil || c.Tuples[dir].Dst != s.Dst {
		return
	}
	s.conn, s.dir, s.relation = c, dir, isRelated
}

// confirm puts a new connection into the table, at the end of its first packet's way (nf_confirm). An answer to an answer to that packet,
// which is of the connection's original direction, does so too. It is false if the packet goes no further.
func (k *packetTracker) confirm(s *skb) bool {
	if s.conn == nil || s.conn.Confirmed || s.dir != conntrack.Original {
		return true
	}
	if !k.conns.Insert(s.conn) {
		reason := ReasonConntrackClash
		if s.conn.SrcNAT { // the search for a port ends with one that is taken
			reason = ReasonPortsExhausted
		}
		k.drop(reason)
		return false
	}
	if k.tellsEvents() {
		k.tell(Event{Kind: EventEntry, Entry: k.conns.EntryOf(s.conn)})
	}
	return true
}

var errNoInner = errors.New(`packet: conntrack knows an ICMP error by the packet that it quotes: add "quotes { PACKET }"`)

// takeTemplate takes the template off the packet: it says in which zone conntrack looks for the connection, this time only.
func (s *skb) takeTemplate() {
	s.zone, s.helper = conntrack.Zone{}, ""
	if s.conn == nil || s.conn.Template == nil {
		return
	}
	s.zone, s.helper = s.conn.Template.Zone(s.Mark), s.conn.Template.Helper
	s.conn, s.relation = nil, isInvalid
}
