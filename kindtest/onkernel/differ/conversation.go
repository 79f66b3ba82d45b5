package differ

import (
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// Numbers of every conversation: each side begins at the same sequence number and sends no data, and each has the same tag.
const (
	firstSequence = 1000
	farSequence   = firstSequence + 1<<30 // beyond every window
	window        = 8192
	sctpTag       = 7
)

// complete writes into the packet what its bytes will say beyond its other fields.
func complete(p *inet.Packet) {
	switch {
	case p.Proto == inet.TCP && p.Numbers == nil:
		n := &inet.TCPNumbers{Seq: firstSequence, Window: window}
		if p.TCPFlags&inet.SYN == 0 {
			n.Seq++
		}
		if p.OutOfWindow {
			n.Seq = farSequence
		}
		if p.TCPFlags&inet.ACK != 0 {
			n.Ack = firstSequence + 1
		}
		n.Data = uint32(len(p.Payload))
		p.Numbers, p.OutOfWindow = n, false
	case p.Proto == inet.SCTP && len(p.Chunks) == 0:
		setChunk(p, inet.SCTPInit)
	}
	if p.Inner != nil {
		inner := *p.Inner
		complete(&inner)
		p.Inner = &inner
	}
	p.SetHopLimit(p.HopLimit())
	p.Length = len(wire.Encode(p, wire.Fields{}))
}

// setChunk makes the packet one of a single chunk.
func setChunk(p *inet.Packet, t inet.SCTPChunkType) {
	c := inet.SCTPChunk{Type: t}
	p.VerificationTag = sctpTag
	if t == inet.SCTPInit {
		p.VerificationTag = 0
	}
	if t == inet.SCTPInit || t == inet.SCTPInitAck {
		c.InitTag = sctpTag
	}
	p.Chunks = []inet.SCTPChunk{c}
}
