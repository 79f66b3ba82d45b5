package raw

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Capture is a packet as it was on a wire.
type Capture struct {
	inet.Packet
	Seq, Ack uint32             // TCP; for SCTP the verification tag and the tag that an INIT carries
	Chunk    inet.SCTPChunkType // SCTP
	Payload  int                // the bytes behind a TCP header
	// Print is the same for a packet on its whole way, whatever is translated, and
	// another for every other packet.
	Print string
}

// Source is where it comes from, by address and port.
func (c *Capture) Source() netip.AddrPort { return netip.AddrPortFrom(c.Src, c.SrcPort) }

// Destination is where it goes, by address and port.
func (c *Capture) Destination() netip.AddrPort { return netip.AddrPortFrom(c.Dst, c.DstPort) }

// Shown is the packet with what a person wants to read of it.
func (c *Capture) Shown() inet.Packet {
	p := c.Packet
	p.TTL, p.Spent, p.Length = 0, false, 0
	return p
}

// Parse reads an IP packet, of which the first 20 bytes behind the IP header suffice.
func Parse(b []byte) (*Capture, error) {
	h, transport, err := wire.DecodeHeader(b)
	if err != nil {
		return nil, err
	}
	c := &Capture{Packet: inet.Packet{Proto: h.Proto, Src: h.Src, Dst: h.Dst, Length: h.Length}}
	c.SetHopLimit(h.TTL)
	c.transport(transport, h.Length-(len(b)-len(transport)))
	c.quote(transport)
	return c, nil
}

// transport reads what is behind the IP header; length is what it was on the wire.
func (c *Capture) transport(b []byte, length int) {
	seen := make([]byte, 20) // what is cut off reads as zeros
	copy(seen, b[:min(len(b), 20, max(length, 0))])
	invariant := seen
	if c.Proto.HasPorts() {
		c.SrcPort, c.DstPort = binary.BigEndian.Uint16(seen), binary.BigEndian.Uint16(seen[2:])
	}
	switch c.Proto {
	case inet.TCP:
		c.Seq, c.Ack = binary.BigEndian.Uint32(seen[4:]), binary.BigEndian.Uint32(seen[8:])
		c.TCPFlags = inet.TCPFlags(seen[13] & 0x3f)
		c.Payload = length - int(seen[12]>>4)*4
		invariant = seen[4:14]
	case inet.UDP:
		invariant = seen[8:]
	case inet.SCTP:
		c.Seq, c.Chunk, c.Ack = binary.BigEndian.Uint32(seen[4:]), inet.SCTPChunkType(seen[12]), binary.BigEndian.Uint32(seen[16:])
		invariant = slices.Concat(seen[4:8], seen[12:])
	case inet.ICMP, inet.ICMPv6:
		c.ICMPType, c.ICMPCode, c.ICMPID = seen[0], seen[1], binary.BigEndian.Uint16(seen[4:])
		invariant = slices.Concat(seen[:2], seen[6:]) // an identifier may be translated
		if c.IsICMPError() {
			c.ICMPID = 0
			invariant = slices.Concat(seen[:2], seen[8:15]) // of the quoted header what is not translated
		}
	}
	c.Print = fmt.Sprintf("%d/%x", c.Proto, invariant)
}

// Delivered is a packet as raw sockets of IPv6 have it, without its IP header.
func Delivered(src, dst netip.Addr, proto inet.Proto, b []byte) *Capture {
	c := &Capture{Packet: inet.Packet{Proto: proto, Src: src, Dst: dst}}
	c.transport(b, len(b))
	c.quote(b)
	return c
}

// icmpHeader is how long the header of an ICMP message is, behind which is what it quotes.
const icmpHeader = 8

// quote reads what an ICMP error quotes, as far as it is there.
func (c *Capture) quote(b []byte) {
	if !c.IsICMPError() || len(b) < icmpHeader {
		return
	}
	if inner, _, err := wire.Decode(b[icmpHeader:]); err == nil {
		c.Inner = &inner
	}
}
