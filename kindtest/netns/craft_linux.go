package netns

import (
	"encoding/binary"

	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim"
)

// tell is what a crafted packet says beside what packetsim.Packet has.
type tell struct {
	seq, ack uint32
	chunk    packetsim.SCTPChunkType
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
	b[0], b[3] = byte(t.chunk), 20
	binary.BigEndian.PutUint32(b[4:], t.ack)
	switch t.chunk {
	case packetsim.SCTPInit, packetsim.SCTPInitAck:
		binary.BigEndian.PutUint32(b[8:], 8192)
		b[13], b[15] = 1, 1 // streams out and in
	case packetsim.SCTPData:
		b[1] = 3 // a whole message
	}
	return b
}
