package netns

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
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
	return c.sendChunk(tell{chunk: chunkInit, ack: c.sctp.own})
}

// sourceFor is the address that routing chooses for a socket of the host.
func (h *host) sourceFor(to netip.Addr, port uint16) (netip.AddrPort, error) {
	routes, err := h.ns.link.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{})
	if err != nil {
		return netip.AddrPort{}, err
	}
	source, ok := netip.AddrFromSlice(routes[0].Src)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("no source address for %s", to)
	}
	if to.Is4() {
		source = source.Unmap()
	}
	return netip.AddrPortFrom(source, port), nil
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
			f := seen[h.spoken].frame
			if seen[h.spoken].mark != markLocal || f.Proto != packetsim.SCTP && !f.IsICMPError() {
				continue
			}
			if err := h.ns.Do(func() error { return s.takeChunk(h, c, f) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeChunk is what a host does with a chunk. It runs in the host's namespace.
func (s *session) takeChunk(h *host, c *client, f *frame) error {
	mine := c != nil && h == c.host && f.source() == c.to && f.destination() == c.local
	switch {
	case f.IsICMPError():
		if c != nil && c.proto == packetsim.SCTP && h == c.host && f.Dst == c.local.Addr() {
			c.done, c.heard, c.why = true, true, "an ICMP error"
		}
	case f.chunk == chunkInit && h.Listeners.Accept(packetsim.SCTP, f.destination()):
		return answerChunk(f, tell{chunk: chunkInitAck, seq: f.ack, ack: tagOfServer(f.ack)})
	case f.chunk == chunkCookieEcho && h.Listeners.Accept(packetsim.SCTP, f.destination()):
		return answerChunk(f, tell{chunk: chunkCookieAck, seq: f.seq&0xffffff | clientTag})
	case f.chunk == chunkInitAck && mine:
		c.sctp.peer = f.ack
		return c.sendChunk(tell{chunk: chunkCookieEcho, seq: f.ack})
	case f.chunk == chunkCookieAck && mine:
		c.done, c.heard = true, true
	}
	return nil
}

// answerChunk sends a chunk back to where another came from.
func answerChunk(f *frame, t tell) error {
	return inject(craft(&packetsim.Packet{
		Proto: packetsim.SCTP, Src: f.Dst, SrcPort: f.DstPort, Dst: f.Src, DstPort: f.SrcPort,
	}, t), f.Src, 0)
}
