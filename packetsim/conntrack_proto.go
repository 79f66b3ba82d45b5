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
