package conntrack

import "time"

// UDPStreamAge is the age from which a replied flow gets the longer timeout (net/netfilter/nf_conntrack_proto_udp.c).
const UDPStreamAge = 2 * time.Second

func (k *Tracker) trackUDP(c *Conn) Verdict {
	k.Change(c)
	now := k.clock.Now()
	if !c.Confirmed && c.streamAfter.IsZero() {
		c.streamAfter = now.Add(UDPStreamAge)
	}
	timeout := k.conf.udp
	if c.SeenReply && now.After(c.streamAfter) {
		timeout, c.Assured = k.conf.udpStream, true
	}
	k.expireIn(c, timeout)
	return Accept
}
