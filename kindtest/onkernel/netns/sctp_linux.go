package netns

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/kindtest/internal/raw"
	"github.com/chainwalk/chainwalk/kindtest/internal/socket"
	"github.com/chainwalk/chainwalk/packetsim/inet"
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
	if c.fd, err = socket.Open(unix.SOCK_RAW, unix.IPPROTO_SCTP, netip.AddrPortFrom(bind.Addr(), 0), false); err != nil {
		return err
	}
	return c.sendChunk(raw.Tell{Chunk: inet.SCTPInit, Ack: c.sctp.own})
}

func (c *client) sendChunk(t raw.Tell) error {
	return raw.Inject(raw.Craft(&inet.Packet{
		Proto: inet.SCTP, Src: c.local.Addr(), SrcPort: c.local.Port(), Dst: c.to.Addr(), DstPort: c.to.Port(),
	}, t), c.to.Addr(), 0)
}

// speakSCTP answers the chunks that have been delivered since the last call, as the
// ends of associations do: the servers that listen, and the client.
func (s *session) speakSCTP(c *client) error {
	for _, h := range s.network.hosts {
		seen := h.watch.seen
		for ; h.spoken < len(seen); h.spoken++ {
			one := seen[h.spoken].Capture
			if seen[h.spoken].point != pointLocal || one.Proto != inet.SCTP && !one.IsICMPError() {
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
func (s *session) takeChunk(h *host, c *client, one *raw.Capture) error {
	mine := c != nil && h == c.host && one.Source() == c.to && one.Destination() == c.local
	switch {
	case one.IsICMPError():
		if c != nil && c.proto == inet.SCTP && h == c.host && one.Dst == c.local.Addr() {
			c.done, c.heard, c.why = true, true, "an ICMP error"
		}
	case one.Chunk == inet.SCTPInit && h.Listeners.Accept(inet.SCTP, one.Destination()):
		return answerChunk(one, raw.Tell{Chunk: inet.SCTPInitAck, Seq: one.Ack, Ack: tagOfServer(one.Ack)})
	case one.Chunk == inet.SCTPCookieEcho && h.Listeners.Accept(inet.SCTP, one.Destination()):
		return answerChunk(one, raw.Tell{Chunk: inet.SCTPCookieAck, Seq: one.Seq&0xffffff | clientTag})
	case one.Chunk == inet.SCTPInitAck && mine:
		c.sctp.peer = one.Ack
		return c.sendChunk(raw.Tell{Chunk: inet.SCTPCookieEcho, Seq: one.Ack})
	case one.Chunk == inet.SCTPCookieAck && mine:
		c.done, c.heard = true, true
	}
	return nil
}

// answerChunk sends a chunk back to where another came from.
func answerChunk(one *raw.Capture, t raw.Tell) error {
	answer := one.Answer()
	return raw.Inject(raw.Craft(&answer, t), answer.Dst, 0)
}
