package network

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim"
)

// ICMP codes of what Linux answers for a port or a protocol that nobody waits for.
const (
	icmpProtocolUnreachable = 2 // of type 3
	icmpPortUnreachable     = 3 // of type 3
	icmp6PortUnreachable    = 4 // of type 1
	icmp6UnknownNextHeader  = 1 // of type 4
)

// answer is what a host says to a packet that came to it: the listener's answer, or what Linux
// says where nobody listens (refuses).
func (h *Host) answer(p *packetsim.Packet) (answer packetsim.Packet, refuses bool) {
	listens := h.Listeners.Accept(p.Proto, netip.AddrPortFrom(p.Dst, p.DstPort))
	switch {
	case p.Proto == packetsim.TCP && !listens:
		answer = p.Answer()
		answer.TCPFlags = packetsim.RST | packetsim.ACK
	case p.Proto == packetsim.TCP:
		answer = p.Answer()
		answer.TCPFlags = packetsim.SYN | packetsim.ACK
	case p.Proto == packetsim.SCTP, listens:
		// Packets do not say their SCTP chunks: an INIT ACK and an ABORT look alike.
		answer = p.Answer()
	default:
		answer = unreachable(p)
	}
	return answer, !listens
}

// unreachable is the ICMP error for a port that nobody listens on, or for a protocol that the
// host does not speak. It comes from the address that was called.
func unreachable(p *packetsim.Packet) packetsim.Packet {
	quoted := *p
	quoted.Inner = nil
	icmp := packetsim.Packet{Proto: packetsim.ICMP, Src: p.Dst, Dst: p.Src, Inner: &quoted}
	known := p.Proto == packetsim.UDP
	switch {
	case p.Is6() && known:
		icmp.Proto, icmp.ICMPType, icmp.ICMPCode = packetsim.ICMPv6, packetsim.ICMPv6Unreachable, icmp6PortUnreachable
	case p.Is6():
		icmp.Proto, icmp.ICMPType, icmp.ICMPCode = packetsim.ICMPv6, packetsim.ICMPv6ParameterProblem, icmp6UnknownNextHeader
	case known:
		icmp.ICMPType, icmp.ICMPCode = packetsim.ICMPUnreachable, icmpPortUnreachable
	default:
		icmp.ICMPType, icmp.ICMPCode = packetsim.ICMPUnreachable, icmpProtocolUnreachable
	}
	return icmp
}
