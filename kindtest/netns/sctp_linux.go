package netns

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/packetsim"
)

// The tags that the ends of an association tell each other. A server's is its
// client's with another first byte.
const (
	clientTag = 0x11000000
	serverTag = 0x22000000
)

func tagOfServer(client uint32) uint32 { return client&0xffffff | serverTag }

// openSCTP opens the client's raw socket and sends an INIT. It runs in the client's namespace.
func (c *client) openSCTP(bind netip.AddrPort) (err error) {
	if !bind.Addr().IsUnspecified() {
		c.local = bind
	} else if c.local, err = c.host.sourceFor(c.to.Addr(), bind.Port()); err != nil {
		return err
	}
	if c.fd, err = socket(unix.SOCK_RAW, unix.IPPROTO_SCTP, netip.AddrPortFrom(bind.Addr(), 0), false); err != nil {
		return err
	}
	return c.sendChunk(tell{chunk: packetsim.SCTPInit, ack: c.sctp.own})
}

func (c *client) sendChunk(t tell) error {
	return inject(craft(&packetsim.Packet{
		Proto: packetsim.SCTP, Src: c.local.Addr(), SrcPort: c.local.Port(), Dst: c.to.Addr(), DstPort: c.to.Port(),
	}, t), c.to.Addr(), 0)
}

// speakSCTP answers the chunks that have been delivered since the last call, as the
// ends of associations do: the servers that listen, and the client.
func (s *session) speakSCTP(c *client) error {
	for _, h := range s.network.hosts {
		seen := h.watch.seen
		for ; h.spoken < len(seen); h.spoken++ {
			one := seen[h.spoken].capture
			if seen[h.spoken].point != pointLocal || one.Proto != packetsim.SCTP && !one.IsICMPError() {
				continue
			}
			if err := h.ns.Do(func() error { return s.takeChunk(h, c, one) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeChunk is what a host does with a chunk. It runs in the host's namespace.
func (s *session) takeChunk(h *host, c *client, one *capture) error {
	mine := c != nil && h == c.host && one.source() == c.to && one.destination() == c.local
	switch {
	case one.IsICMPError():
		if c != nil && c.proto == packetsim.SCTP && h == c.host && one.Dst == c.local.Addr() {
			c.done, c.heard, c.why = true, true, "an ICMP error"
		}
	case one.chunk == packetsim.SCTPInit && h.Listeners.Accept(packetsim.SCTP, one.destination()):
		return answerChunk(one, tell{chunk: packetsim.SCTPInitAck, seq: one.ack, ack: tagOfServer(one.ack)})
	case one.chunk == packetsim.SCTPCookieEcho && h.Listeners.Accept(packetsim.SCTP, one.destination()):
		return answerChunk(one, tell{chunk: packetsim.SCTPCookieAck, seq: one.seq&0xffffff | clientTag})
	case one.chunk == packetsim.SCTPInitAck && mine:
		c.sctp.peer = one.ack
		return c.sendChunk(tell{chunk: packetsim.SCTPCookieEcho, seq: one.ack})
	case one.chunk == packetsim.SCTPCookieAck && mine:
		c.done, c.heard = true, true
	}
	return nil
}

// answerChunk sends a chunk back to where another came from.
func answerChunk(one *capture, t tell) error {
	answer := one.Answer()
	return inject(craft(&answer, t), answer.Dst, 0)
}
