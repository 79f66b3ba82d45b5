package conntrack

import (
	"time"

	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Verdict is what a protocol's tracker says of a packet.
type Verdict uint8

// The verdicts of a tracker.
const (
	Accept  Verdict = iota
	Invalid         // the packet is not of the connection
	Again           // the connection is gone: look the packet up again
	Full            // the table has no room for the connection
)

// Look finds the connection of a packet in the zone, or makes one (nf_conntrack_in). The connection has seen a reply once a packet of that
// direction was accepted.
func (k *Tracker) Look(p *inet.Packet, z Zone, helper string, chance Chance) (c *Conn, dir Direction, v Verdict) {
	c, dir, v = k.lookOnce(p, z, helper, chance)
	if v == Again {
		c, dir, v = k.lookOnce(p, z, helper, chance)
	}
	return c, dir, v
}

func (k *Tracker) lookOnce(p *inet.Packet, z Zone, helper string, chance Chance) (*Conn, Direction, Verdict) {
	tuple := TupleOf(p)
	inverse, ok := tuple.Answer()
	if !ok {
		return nil, Original, Invalid
	}
	c, dir := k.Find(&tuple, z)
	if c == nil {
		if !k.makeRoom(chance) {
			return nil, Original, Full
		}
		if p.Proto.IsICMP() && !icmpStarts(p.Proto, p.ICMPType) {
			return nil, Original, Invalid
		}
		c, dir = k.scratch.newConn(), Original
		c.Tuples, c.Zone, c.Helper = [2]Tuple{tuple, inverse}, z, helper
		if k.accounts() {
			c.Counters = &Counters{}
		}
	}
	k.refreshed = false
	if verdict := k.track(c, dir, p); verdict != Accept {
		return nil, Original, verdict
	}
	if c.Counters != nil && k.refreshed {
		k.count(c, dir, p.Size())
	}
	if dir == Reply && !c.SeenReply {
		k.Change(c)
		c.SeenReply = true
	}
	return c, dir, Accept
}

// track lets the protocol's tracker look at the packet.
func (k *Tracker) track(c *Conn, dir Direction, p *inet.Packet) Verdict {
	switch p.Proto {
	case inet.TCP:
		return k.trackTCP(c, dir, p)
	case inet.UDP:
		return k.trackUDP(c)
	case inet.SCTP:
		return k.trackSCTP(c, dir, p)
	case inet.ICMP, inet.ICMPv6:
		return k.trackICMP(c, p.Proto)
	}
	k.Change(c)
	timeout := k.conf.generic
	if p.Proto == GRE {
		timeout, c.Assured = k.conf.gre, c.SeenReply
		if c.SeenReply {
			timeout = k.conf.greStream
		}
	}
	k.expireIn(c, timeout)
	return Accept
}

// GRE is the one protocol without ports, beside ICMP, that has timeouts of its own (net/netfilter/nf_conntrack_proto_gre.c).
const GRE inet.Proto = 47

func (k *Tracker) expireIn(c *Conn, seconds int) {
	k.refreshed = true
	c.Expires = k.clock.Now().Add(time.Duration(seconds) * time.Second)
}
