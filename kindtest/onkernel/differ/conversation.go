package differ

import (
	"github.com/chainwalk/chainwalk/internal/wire"
	"github.com/chainwalk/chainwalk/packetsim"
)

// Numbers of every conversation: each side begins at the same sequence number and sends no data, and each has the same tag.
const (
	firstSequence = 1000
	farSequence   = firstSequence + 1<<30 // beyond every window
	window        = 8192
	sctpTag       = 7
)

// complete writes into the packet what its bytes will say beyond its other fields.
func complete(p *packetsim.Packet) {
	switch {
	case p.Proto == packetsim.TCP && p.Numbers == nil:
		n := &packetsim.TCPNumbers{Seq: firstSequence, Window: window}
		if p.TCPFlags&packetsim.SYN == 0 {
			n.Seq++
		}
		if p.OutOfWindow {
			n.Seq = farSequence
		}
		if p.TCPFlags&packetsim.ACK != 0 {
			n.Ack = firstSequence + 1
		}
		n.Data = uint32(len(p.Payload))
		p.Numbers, p.OutOfWindow = n, false
	case p.Proto == packetsim.SCTP && len(p.Chunks) == 0:
		setChunk(p, packetsim.SCTPInit)
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
func setChunk(p *packetsim.Packet, t packetsim.SCTPChunkType) {
	c := packetsim.SCTPChunk{Type: t}
	p.VerificationTag = sctpTag
	if t == packetsim.SCTPInit {
		p.VerificationTag = 0
	}
	if t == packetsim.SCTPInit || t == packetsim.SCTPInitAck {
		c.InitTag = sctpTag
	}
	p.Chunks = []packetsim.SCTPChunk{c}
}
