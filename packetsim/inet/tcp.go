package inet

// TCPNumbers are the parts of a TCP segment that conntrack's window check looks at.
type TCPNumbers struct {
	Seq, Ack uint32
	Window   uint16 // as on the wire, not scaled
	Data     uint32 // bytes of payload

	// HasScale and Scale are the window scale option, and SACKPermitted the option of that name. They count in a SYN.
	HasScale      bool
	Scale         uint8
	SACKPermitted bool
	// SACK are the blocks that the segment acknowledges selectively.
	SACK []SACKBlock
}

// SACKBlock is a block of the SACK option.
type SACKBlock struct {
	Left, Right uint32
}

// Size is the length of the options, padded to whole words, and the payload. Without numbers there are none.
func (n *TCPNumbers) Size() int {
	if n == nil {
		return 0
	}
	size := int(n.Data)
	if n.HasScale {
		size += 4
	}
	if n.SACKPermitted {
		size += 4
	}
	if len(n.SACK) > 0 {
		size += 4 + 8*len(n.SACK)
	}
	return size
}

// ResetNumbers are the numbers of a reset that answers the segment (nf_reject_ip_tcphdr_put); nil if the segment has none.
func ResetNumbers(p *Packet) *TCPNumbers {
	switch n := p.Numbers; {
	case n == nil:
		return nil
	case p.TCPFlags&ACK != 0:
		return &TCPNumbers{Seq: n.Ack}
	default:
		return &TCPNumbers{Ack: n.End(p.TCPFlags)}
	}
}

// End is the number after the segment: SYN and FIN take one each.
func (n *TCPNumbers) End(flags TCPFlags) uint32 {
	end := n.Seq + n.Data
	for _, flag := range []TCPFlags{SYN, FIN} {
		if flags&flag != 0 {
			end++
		}
	}
	return end
}

// MSSOptionSize is the length of TCP's option for the greatest segment.
const MSSOptionSize = 4
