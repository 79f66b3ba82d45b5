package packetsim

import (
	"errors"
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// trackVerdict is what a protocol's tracker says of a packet.
type trackVerdict uint8

const (
	trackAccept  trackVerdict = iota
	trackInvalid              // the packet is not of the connection
	trackAgain                // the connection is gone: look the packet up again
	trackFull                 // the table has no room for the connection
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
	conns *tracker
}

// track is trackStep, and tells what conntrack found. It is false if the packet goes no further.
func (k *packetTracker) track(s *skb) bool {
	known := s.conn != nil && s.conn.template == nil
	if !k.trackStep(s) || k.err != nil {
		return false
	}
	if k.tells() && !known {
		k.tellTracked(s)
	}
	return true
}

// tellTracked tells what conntrack found.
func (k *packetTracker) tellTracked(s *skb) {
	e := Event{Kind: EventConntrack, State: stateNames[s.relation]}
	if s.conn != nil {
		e.Reply = s.dir == reply
		if s.conn.confirmed {
			e.Entry = k.conns.entryOf(s.conn)
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
	case k.conns.conf.checksums && s.hook == preRouting && !s.sumHolds():
		return true
	case s.IsICMPError():
		k.trackError(s)
		return true
	case icmpUntracked(s.Proto, s.ICMPType):
		s.relation = isUntracked
		return true
	}
	verdict := k.trackOnce(s)
	if verdict == trackAgain {
		verdict = k.trackOnce(s)
	}
	if verdict == trackFull {
		k.drop("conntrack table full")
		return false
	}
	return true
}

func (k *packetTracker) trackOnce(s *skb) trackVerdict {
	tuple := tupleOf(&s.Packet)
	inverse, ok := tuple.answer()
	if !ok {
		return trackInvalid
	}
	c, dir := k.conns.find(&tuple, s.zone)
	if c == nil {
		if !k.conns.makeRoom(k.chance) {
			return trackFull
		}
		if s.Proto.IsICMP() && !icmpStarts(s.Proto, s.ICMPType) {
			return trackInvalid
		}
		c, dir = k.conns.scratch.newConn(), original
		c.tuples, c.zone, c.helper = [2]Tuple{tuple, inverse}, s.zone, s.helper
		if k.conns.accounts() {
			c.counters = &connCounters{}
		}
	}
	k.conns.refreshed = false
	verdict := k.conns.track(c, dir, &s.Packet)
	if verdict != trackAccept {
		return verdict
	}
	if c.counters != nil && k.conns.refreshed {
		k.conns.count(c, dir, s.Size())
	}
	s.conn, s.dir, s.relation = c, dir, isNew
	if dir == reply || c.seenReply {
		s.relation = isEstablished
	}
	if dir == reply && !c.seenReply {
		k.conns.change(c)
		c.seenReply = true
	}
	return trackAccept
}

// trackError relates an ICMP error to the connection of the packet that it quotes (nf_conntrack_inet_error).
func (k *packetTracker) trackError(s *skb) {
	if s.Inner == nil {
		k.fail(errNoInner)
		return
	}
	answer, ok := tupleOf(s.Inner).answer()
	if !ok {
		return
	}
	c, dir := k.conns.find(&answer, s.zone)
	if c == nil || c.tuples[dir].Dst != s.Dst {
		return
	}
	s.conn, s.dir, s.relation = c, dir, isRelated
}

// confirm puts a new connection into the table, at the end of its first packet's way (nf_confirm). An answer to an answer to that packet,
// which is of the connection's original direction, does so too. It is false if the packet goes no further.
func (k *packetTracker) confirm(s *skb) bool {
	if s.conn == nil || s.conn.confirmed || s.dir != original {
		return true
	}
	if !k.conns.insert(s.conn) {
		k.drop("connection clashes with another")
		return false
	}
	if k.tells() {
		k.tell(Event{Kind: EventEntry, Entry: k.conns.entryOf(s.conn)})
	}
	return true
}

// track lets the protocol's tracker look at the packet.
func (h *tracker) track(c *conn, dir direction, p *inet.Packet) trackVerdict {
	switch p.Proto {
	case inet.TCP:
		return h.trackTCP(c, dir, p)
	case inet.UDP:
		return h.trackUDP(c)
	case inet.SCTP:
		return h.trackSCTP(c, dir, p)
	case inet.ICMP, inet.ICMPv6:
		return h.trackICMP(c, p.Proto)
	}
	h.change(c)
	timeout := h.conf.generic
	if p.Proto == protoGRE {
		timeout, c.assured = h.conf.gre, c.seenReply
		if c.seenReply {
			timeout = h.conf.greStream
		}
	}
	h.expireIn(c, timeout)
	return trackAccept
}

// protoGRE is the one protocol without ports, beside ICMP, that has timeouts of its own (net/netfilter/nf_conntrack_proto_gre.c).
const protoGRE inet.Proto = 47

func (h *tracker) expireIn(c *conn, seconds int) {
	h.refreshed = true
	c.expires = h.clock.Now().Add(time.Duration(seconds) * time.Second)
}

var errNoInner = errors.New("packet: Inner is not set: an ICMP error is tracked by the packet that it quotes")
