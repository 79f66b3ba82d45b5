package raw

import (
	"encoding/binary"
	"fmt"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Tell is what a crafted packet says beside what inet.Packet has.
type Tell struct {
	// Seq and Ack are the numbers of TCP. Of SCTP Seq is the verification tag, and Ack the tag that INIT and INIT ACK tell the other end, or
	// the number of a DATA chunk.
	Seq, Ack uint32
	Chunk    inet.SCTPChunkType
	// Payload is behind the header of TCP, UDP and ICMP; SCTP has it in DATA chunks.
	Payload []byte
}

// Craft makes the bytes of a packet, with checksums.
func Craft(p *inet.Packet, t Tell) []byte {
	said := inet.Packet{
		Proto: p.Proto, Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort, DstPort: p.DstPort, TTL: p.TTL, Spent: p.Spent, TCPFlags: p.TCPFlags,
		ICMPType: p.ICMPType, ICMPCode: p.ICMPCode, ICMPID: p.ICMPID, VerificationTag: t.Seq,
		Numbers: &inet.TCPNumbers{Seq: t.Seq, Ack: t.Ack, Window: 8192},
	}
	fields := wire.Fields{DontFragment: true, Payload: append([]byte{}, t.Payload...)}
	if p.Src.Is4() {
		fields.ID = uint16(t.Seq) | 1
	}
	if p.Proto == inet.SCTP {
		fields.Payload = craftChunk(t)
	}
	return wire.Encode(&said, fields)
}

// craftChunk is the one chunk of an SCTP packet.
func craftChunk(t Tell) []byte {
	b := make([]byte, 20)
	if t.Chunk == inet.SCTPData && len(t.Payload) > 0 {
		b = append(b[:dataHeader], t.Payload...)
	}
	b[0] = byte(t.Chunk)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	binary.BigEndian.PutUint32(b[4:], t.Ack)
	switch t.Chunk {
	case inet.SCTPInit, inet.SCTPInitAck:
		binary.BigEndian.PutUint32(b[8:], 8192)
		b[13], b[15] = 1, 1 // streams out and in
	case inet.SCTPData:
		b[1] = 3 // a whole message
	}
	return append(b, make([]byte, -len(b)&3)...)
}

// dataHeader is how long the header of a DATA chunk is.
const dataHeader = 16

// Numbered makes the bytes of a packet that is no connection's, with a number that tells it from others with the same headers.
func Numbered(p *inet.Packet, number uint32) []byte {
	t := Tell{Seq: number, Chunk: inet.SCTPInit}
	if p.TCPFlags&inet.ACK != 0 {
		t.Ack = 1
	}
	if p.Proto != inet.TCP {
		t.Payload = fmt.Appendf(nil, "S%011d", number)
	}
	return Craft(p, t)
}
