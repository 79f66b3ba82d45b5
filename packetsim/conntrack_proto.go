package packetsim

import (
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

// look finds the connection of a packet in the zone, or makes one (nf_conntrack_in). The connection has seen a reply once a packet of that
// direction was accepted.
func (h *tracker) look(p *inet.Packet, z Zone, helper string, chance Chance) (c *conn, dir direction, v trackVerdict) {
	c, dir, v = h.lookOnce(p, z, helper, chance)
	if v == trackAgain {
		c, dir, v = h.lookOnce(p, z, helper, chance)
	}
	return c, dir, v
}

func (h *tracker) lookOnce(p *inet.Packet, z Zone, helper string, chance Chance) (*conn, direction, trackVerdict) {
	tuple := tupleOf(p)
	inverse, ok := tuple.answer()
	if !ok {
		return nil, original, trackInvalid
	}
	c, dir := h.find(&tuple, z)
	if c == nil {
		if !h.makeRoom(chance) {
			return nil, original, trackFull
		}
		if p.Proto.IsICMP() && !icmpStarts(p.Proto, p.ICMPType) {
			return nil, original, trackInvalid
		}
		c, dir = h.scratch.newConn(), original
		c.tuples, c.zone, c.helper = [2]Tuple{tuple, inverse}, z, helper
		if h.accounts() {
			c.counters = &connCounters{}
		}
	}
	h.refreshed = false
	if verdict := h.track(c, dir, p); verdict != trackAccept {
		return nil, original, verdict
	}
	if c.counters != nil && h.refreshed {
		h.count(c, dir, p.Size())
	}
	if dir == reply && !c.seenReply {
		h.change(c)
		c.seenReply = true
	}
	return c, dir, trackAccept
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
