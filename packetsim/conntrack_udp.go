package packetsim

import "time"

// udpStreamAge is the age from which a replied flow gets the longer timeout (net/netfilter/nf_conntrack_proto_udp.c).
const udpStreamAge = 2 * time.Second

func (h *tracker) trackUDP(c *conn) trackVerdict {
	h.change(c)
	now := h.clock.Now()
	if !c.confirmed && c.streamAfter.IsZero() {
		c.streamAfter = now.Add(udpStreamAge)
	}
	timeout := h.conf.udp
	if c.seenReply && now.After(c.streamAfter) {
		timeout, c.assured = h.conf.udpStream, true
	}
	h.expireIn(c, timeout)
	return trackAccept
}
