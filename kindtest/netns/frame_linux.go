package netns

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim"
)

// The chunks of SCTP that are spoken.
const (
	chunkData       = 0
	chunkInit       = 1
	chunkInitAck    = 2
	chunkCookieEcho = 10
	chunkCookieAck  = 11
)

// frame is a packet as it was on a wire.
type frame struct {
	packetsim.Packet
	seq, ack uint32 // TCP; for SCTP the verification tag and the tag that an INIT carries
	chunk    uint8  // SCTP
	payload  int    // the bytes behind a TCP header
	// print is the same for a packet on its whole way, whatever is translated, and
	// another for every other packet.
	print string
}

func (f *frame) source() netip.AddrPort      { return netip.AddrPortFrom(f.Src, f.SrcPort) }
func (f *frame) destination() netip.AddrPort { return netip.AddrPortFrom(f.Dst, f.DstPort) }

// parseFrame reads an IP packet, of which the first 20 bytes behind the IP header suffice.
func parseFrame(b []byte) (*frame, error) {
	h, transport, err := wire.DecodeHeader(b)
	if err != nil {
		return nil, err
	}
	f := &frame{Packet: packetsim.Packet{Proto: h.Proto, TTL: h.TTL, Src: h.Src, Dst: h.Dst, Length: h.Length}}
	f.transport(transport, h.Length-(len(b)-len(transport)))
	return f, nil
}

// transport reads what is behind the IP header; length is what it was on the wire.
func (f *frame) transport(b []byte, length int) {
	seen := make([]byte, 20) // what is cut off reads as zeros
	copy(seen, b[:min(len(b), 20, max(length, 0))])
	invariant := seen
	if f.Proto.HasPorts() {
		f.SrcPort, f.DstPort = binary.BigEndian.Uint16(seen), binary.BigEndian.Uint16(seen[2:])
	}
	switch f.Proto {
	case packetsim.TCP:
		f.seq, f.ack = binary.BigEndian.Uint32(seen[4:]), binary.BigEndian.Uint32(seen[8:])
		f.TCPFlags = packetsim.TCPFlags(seen[13] & 0x3f)
		f.payload = length - int(seen[12]>>4)*4
		invariant = seen[4:14]
	case packetsim.UDP:
		invariant = seen[8:]
	case packetsim.SCTP:
		f.seq, f.chunk, f.ack = binary.BigEndian.Uint32(seen[4:]), seen[12], binary.BigEndian.Uint32(seen[16:])
		invariant = slices.Concat(seen[4:8], seen[12:])
	case packetsim.ICMP, packetsim.ICMPv6:
		f.ICMPType, f.ICMPCode, f.ICMPID = seen[0], seen[1], binary.BigEndian.Uint16(seen[4:])
		invariant = slices.Concat(seen[:2], seen[6:]) // an identifier may be translated
		if f.IsICMPError() {
			f.ICMPID = 0
			invariant = slices.Concat(seen[:2], seen[8:15]) // of the quoted header what is not translated
		}
	}
	f.print = fmt.Sprintf("%d/%x", f.Proto, invariant)
}

// tell is what a crafted packet says beside what packetsim.Packet has.
type tell struct {
	seq, ack uint32
	chunk    uint8
	payload  []byte
}

// craft makes the bytes of a packet, with checksums.
func craft(p *packetsim.Packet, t tell) []byte {
	said := packetsim.Packet{
		Proto: p.Proto, Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort, DstPort: p.DstPort, TTL: p.TTL, TCPFlags: p.TCPFlags,
		ICMPType: p.ICMPType, ICMPCode: p.ICMPCode, ICMPID: p.ICMPID, VerificationTag: t.seq,
		Numbers: &packetsim.TCPNumbers{Seq: t.seq, Ack: t.ack, Window: 8192},
	}
	fields := wire.Fields{DontFragment: true, Payload: append([]byte{}, t.payload...)}
	if p.Src.Is4() {
		fields.ID = uint16(t.seq) | 1
	}
	if p.Proto == packetsim.SCTP {
		fields.Payload = craftChunk(t)
	}
	return wire.Encode(&said, fields)
}

// craftChunk is the one chunk of an SCTP packet; ack is the tag that INIT and INIT ACK tell the other end.
func craftChunk(t tell) []byte {
	b := make([]byte, 20)
	b[0], b[3] = t.chunk, 20
	binary.BigEndian.PutUint32(b[4:], t.ack)
	switch t.chunk {
	case chunkInit, chunkInitAck:
		binary.BigEndian.PutUint32(b[8:], 8192)
		b[13], b[15] = 1, 1 // streams out and in
	case chunkData:
		b[1] = 3 // a whole message
	}
	return b
}
