package differ

import "github.com/chainwalk/chainwalk/packetsim/inet"
import "github.com/chainwalk/chainwalk/packetsim"

// socketAnswer is what the node's stack says to a packet that was delivered to it: the lab has no listeners, so a TCP segment is
// answered by a reset and a UDP datagram by an ICMP error. Everything else is taken in silence.
func socketAnswer(o *packetsim.Outcome) (answer inet.Packet, answers bool) {
	p := o.Packet
	if o.To != packetsim.ToLocal || p.Src.IsUnspecified() || p.Src.IsMulticast() || p.Dst.IsMulticast() || isBroadcast(p.Dst) ||
		p.LinkType == inet.LinkBroadcast || p.LinkType == inet.LinkMulticast {
		return answer, false
	}
	switch {
	case p.Proto == inet.TCP && p.Is6() && p.Src.IsLoopback() && !p.Dst.IsLoopback():
		return answer, false // the way back to ::1 is looked for on the device with the address
	case p.Proto == inet.TCP && p.TCPFlags&inet.RST == 0:
		answer = inet.Packet{
			Proto: p.Proto, Src: p.Dst, Dst: p.Src, SrcPort: p.DstPort, DstPort: p.SrcPort,
			TCPFlags: inet.RST | inet.ACK, Numbers: resetNumbers(&p),
		}
		if p.TCPFlags&inet.ACK != 0 {
			answer.TCPFlags = inet.RST
		}
		answer.TOS = p.TOS &^ 3 // an answer does not repeat the bits about congestion
		return answer, true
	case p.Proto == inet.UDP:
		answer = portUnreachable(p)
		if p.Dst.Is4() {
			answer.TOS = p.TOS&0x1e | 0xc0 // IPTOS_TOS_MASK, IPTOS_PREC_INTERNETCONTROL
		}
		return answer, true
	}
	return answer, false
}

// resetNumbers are the numbers of a reset: it continues where the segment's acknowledgement is, or acknowledges the segment.
func resetNumbers(p *inet.Packet) *inet.TCPNumbers {
	if p.TCPFlags&inet.ACK != 0 {
		return &inet.TCPNumbers{Seq: p.Numbers.Ack}
	}
	end := p.Numbers.Seq + p.Numbers.Data
	if p.TCPFlags&inet.SYN != 0 {
		end++
	}
	if p.TCPFlags&inet.FIN != 0 {
		end++
	}
	return &inet.TCPNumbers{Ack: end}
}

// portUnreachable is the ICMP error about a UDP datagram.
func portUnreachable(p inet.Packet) inet.Packet {
	p = bare(p)
	answer := inet.Packet{Proto: inet.ICMP, Src: p.Dst, Dst: p.Src, ICMPType: 3, ICMPCode: 3, Inner: &p}
	if p.Is6() {
		answer.Proto, answer.ICMPType, answer.ICMPCode = inet.ICMPv6, 1, 4
	}
	return answer
}

// answerTo is the packet that a peer sends back to the source of p.
func answerTo(p *inet.Packet) inet.Packet {
	a := inet.Packet{Proto: p.Proto, Src: p.Dst, Dst: p.Src, SrcPort: p.DstPort, DstPort: p.SrcPort, ICMPID: p.ICMPID, SPI: p.SPI}
	switch p.Proto {
	case inet.TCP:
		a.TCPFlags = inet.SYN | inet.ACK
	case inet.ICMP:
		a.ICMPType = 0
	case inet.ICMPv6:
		a.ICMPType = 129
	}
	return a
}

// errorAbout is an ICMP error of the packet's destination about it.
func errorAbout(p *inet.Packet) inet.Packet {
	quoted := *p
	quoted.Inner = nil
	return portUnreachable(quoted)
}

// bare is the packet without what is not in its bytes.
func bare(p inet.Packet) inet.Packet {
	p.Mark, p.Socket, p.MAC, p.LinkType = 0, nil, inet.MAC{}, ""
	return p
}
