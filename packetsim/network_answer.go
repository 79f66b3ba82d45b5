package packetsim

// ICMP codes of what Linux answers for a port or a protocol that nobody waits for.
const (
	icmpProtocolUnreachable = 2 // of type 3
	icmpPortUnreachable     = 3 // of type 3
	icmp6PortUnreachable    = 4 // of type 1
	icmp6UnknownNextHeader  = 1 // of type 4
)

// answer is what a host says to a packet that came to it: the listener's answer, or what Linux
// says where nobody listens (refuses).
func (h *NetworkHost) answer(p *Packet) (answer Packet, refuses bool) {
	listens := h.listens(p)
	switch {
	case p.Proto == TCP && !listens:
		answer = answerTo(p)
		answer.TCPFlags = RST | ACK
	case p.Proto == TCP:
		answer = answerTo(p)
		answer.TCPFlags = SYN | ACK
	case p.Proto == SCTP, p.Proto.isICMP(), listens:
		// Packets do not say their SCTP chunks: an INIT ACK and an ABORT look alike.
		answer = answerTo(p)
		listens = listens || p.Proto.isICMP()
	default:
		answer = unreachable(p)
	}
	return answer, !listens
}

func (h *NetworkHost) listens(p *Packet) bool {
	for _, l := range h.Listeners {
		if l.accepts(p) {
			return true
		}
	}
	return false
}

// answerTo turns a packet round.
func answerTo(p *Packet) Packet {
	answer := Packet{Proto: p.Proto, Src: p.Dst, Dst: p.Src, SrcPort: p.DstPort, DstPort: p.SrcPort, ICMPID: p.ICMPID}
	switch p.Proto {
	case ICMP:
		answer.ICMPType = icmpEchoReply
	case ICMPv6:
		answer.ICMPType = icmp6EchoReply
	}
	return answer
}

// unreachable is the ICMP error for a port that nobody listens on, or for a protocol that the
// host does not speak. It comes from the address that was called.
func unreachable(p *Packet) Packet {
	quoted := *p
	quoted.Inner = nil
	icmp := Packet{Proto: ICMP, Src: p.Dst, Dst: p.Src, Inner: &quoted}
	known := p.Proto == UDP
	switch {
	case p.Is6() && known:
		icmp.Proto, icmp.ICMPType, icmp.ICMPCode = ICMPv6, icmp6Unreachable, icmp6PortUnreachable
	case p.Is6():
		icmp.Proto, icmp.ICMPType, icmp.ICMPCode = ICMPv6, icmp6ParameterError, icmp6UnknownNextHeader
	case known:
		icmp.ICMPType, icmp.ICMPCode = icmpUnreachable, icmpPortUnreachable
	default:
		icmp.ICMPType, icmp.ICMPCode = icmpUnreachable, icmpProtocolUnreachable
	}
	return icmp
}
