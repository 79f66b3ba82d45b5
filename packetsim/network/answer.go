package network

import (
	"net/netip"

	"github.com/chainwalk/chainwalk/packetsim/inet"
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
func (h *Host) answer(p *inet.Packet) (answer inet.Packet, refuses bool) {
	listens := h.Listeners.Accept(p.Proto, netip.AddrPortFrom(p.Dst, p.DstPort))
	switch {
	case p.Proto == inet.TCP && !listens:
		answer = p.Answer()
		answer.TCPFlags = inet.RST | inet.ACK
	case p.Proto == inet.TCP:
		answer = p.Answer()
		answer.TCPFlags = inet.SYN | inet.ACK
	case p.Proto == inet.SCTP, listens:
		// Packets do not say their SCTP chunks: an INIT ACK and an ABORT look alike.
		answer = p.Answer()
	default:
		answer = unreachable(p)
	}
	return answer, !listens
}

// unreachable is the ICMP error for a port that nobody listens on, or for a protocol that the
// host does not speak. It comes from the address that was called.
func unreachable(p *inet.Packet) inet.Packet {
	quoted := *p
	quoted.Inner = nil
	icmp := inet.Packet{Proto: inet.ICMP, Src: p.Dst, Dst: p.Src, Inner: &quoted}
	known := p.Proto == inet.UDP
	switch {
	case p.Is6() && known:
		icmp.Proto, icmp.ICMPType, icmp.ICMPCode = inet.ICMPv6, inet.ICMPv6Unreachable, icmp6PortUnreachable
	case p.Is6():
		icmp.Proto, icmp.ICMPType, icmp.ICMPCode = inet.ICMPv6, inet.ICMPv6ParameterProblem, icmp6UnknownNextHeader
	case known:
		icmp.ICMPType, icmp.ICMPCode = inet.ICMPUnreachable, icmpPortUnreachable
	default:
		icmp.ICMPType, icmp.ICMPCode = inet.ICMPUnreachable, icmpProtocolUnreachable
	}
	return icmp
}
