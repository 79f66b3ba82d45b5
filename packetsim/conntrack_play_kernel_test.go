//go:build linux

package packetsim

import (
	"net/netip"

	"pgregory.net/rapid"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// header draws the header of a client's packet from so few that flows meet.
func (p *ctPlay) header(proto inet.Proto) inet.Packet {
	rt := p.rt
	src := p.addr("CLIENT")
	if rapid.IntRange(0, 3).Draw(rt, "other client") == 0 {
		src = src.Next()
	}
	packet := inet.Packet{Proto: proto, Src: src, Dst: p.addr(rapid.SampledFrom([]string{"SERVER", "VIP1", "VIP2"}).Draw(rt, "dst"))}
	switch {
	case proto.HasPorts():
		packet.SrcPort = rapid.SampledFrom([]uint16{300, 700, 5001, 41000}).Draw(rt, "sport")
		packet.DstPort = rapid.SampledFrom([]uint16{80, 8080}).Draw(rt, "dport")
	case proto.IsICMP():
		packet.ICMPType = proto.EchoRequestType()
		packet.ICMPID = rapid.Uint16Range(1, 2).Draw(rt, "id")
	}
	return packet
}

func (p *ctPlay) icmp() inet.Proto {
	if p.family == netfilter.IPv6 {
		return inet.ICMPv6
	}
	return inet.ICMP
}

// tcpFlow is a connection with the numbers of both ends.
type tcpFlow struct {
	head   inet.Packet
	next   [2]uint32 // the sequence numbers that the ends send next
	window [2]uint16
}

var tcpFlagChoices = []inet.TCPFlags{inet.SYN, inet.SYN, inet.SYN | inet.ACK, inet.SYN | inet.ACK, inet.ACK, inet.ACK, inet.ACK,
	inet.PSH | inet.ACK, inet.PSH | inet.ACK, inet.FIN | inet.ACK, inet.FIN | inet.ACK, inet.RST, inet.RST | inet.ACK,
	inet.SYN | inet.URG, inet.FIN, inet.SYN | inet.FIN, 0}

// playTCP lets two connections speak, in order and out of order.
func playTCP(rt *rapid.T, p *ctPlay) {
	var flows []*tcpFlow
	for range rapid.IntRange(1, 2).Draw(rt, "flows") {
		flow := &tcpFlow{head: p.header(inet.TCP), window: [2]uint16{8192, 8192}}
		for end := range flow.next {
			flow.next[end] = rapid.SampledFrom([]uint32{1000, 0xfffffff0, 0x7fffff00, 0}).Draw(rt, "isn")
		}
		flows = append(flows, flow)
		if rapid.Bool().Draw(rt, "handshake") {
			flow.say(p, conntrack.Original, inet.SYN, true)
			flow.say(p, conntrack.Reply, inet.SYN|inet.ACK, true)
			flow.say(p, conntrack.Original, inet.ACK, true)
		}
	}
	for range rapid.IntRange(1, 15).Draw(rt, "packets") {
		flow := flows[rapid.IntRange(0, len(flows)-1).Draw(rt, "flow")]
		dir := conntrack.Direction(rapid.IntRange(0, 1).Draw(rt, "from"))
		flow.say(p, dir, rapid.SampledFrom(tcpFlagChoices).Draw(rt, "flags"), rapid.IntRange(0, 2).Draw(rt, "in order") > 0)
	}
}

// say sends a segment of one end.
func (f *tcpFlow) say(p *ctPlay, dir conntrack.Direction, flags inet.TCPFlags, inOrder bool) {
	rt := p.rt
	jump := func(name string) uint32 {
		if inOrder {
			return 0
		}
		return uint32(rapid.SampledFrom([]int{0, 0, 0, 1, -1, 500, -500, 9000, -9000, 66000, -66000, 70000, -70000, 1 << 20, 200 << 20}).Draw(rt,
			name))
	}
	n := &inet.TCPNumbers{Seq: f.next[dir] + jump("seq"), Window: f.window[dir]}
	if flags&inet.ACK != 0 || rapid.IntRange(0, 9).Draw(rt, "ack without the flag") == 0 {
		n.Ack = f.next[1-dir] + jump("ack")
	}
	if flags&inet.SYN != 0 {
		n.HasScale, n.SACKPermitted = rapid.Bool().Draw(rt, "scaled"), rapid.Bool().Draw(rt, "sack permitted")
		n.Scale = rapid.SampledFrom([]uint8{0, 2, 7, 15}).Draw(rt, "scale")
	} else if flags&inet.ACK != 0 && rapid.IntRange(0, 5).Draw(rt, "has sack") == 0 {
		n.SACK = []inet.SACKBlock{{Left: n.Ack + 100, Right: n.Ack + 100 + jump("sack")}}
	}
	if flags&(inet.SYN|inet.RST) == 0 {
		n.Data = rapid.SampledFrom([]uint32{0, 0, 1, 1000}).Draw(rt, "data")
	}
	if flags&inet.RST != 0 && rapid.IntRange(0, 3).Draw(rt, "reset without number") == 0 {
		n.Seq = 0
	}
	if rapid.IntRange(0, 5).Draw(rt, "new window") == 0 {
		n.Window = rapid.SampledFrom([]uint16{0, 1, 500, 65535}).Draw(rt, "window")
		f.window[dir] = n.Window
	}
	packet := f.head
	packet.TCPFlags, packet.Numbers = flags, n
	if end := packet.Numbers.End(flags); inOrder && flags&inet.RST == 0 {
		f.next[dir] = end
	}
	if dir == conntrack.Original {
		p.forward(packet)
		return
	}
	p.exchange("server", p.back(packet))
}

// playDatagrams mixes UDP, ICMP queries, ICMP errors and protocols that conntrack does not know.
func playDatagrams(rt *rapid.T, p *ctPlay) {
	for range rapid.IntRange(1, 12).Draw(rt, "packets") {
		p.datagram(rapid.SampledFrom([]inet.Proto{inet.UDP, inet.UDP, p.icmp(), p.icmp(), 47, 99}).Draw(rt, "proto"))
	}
}

func (p *ctPlay) datagram(proto inet.Proto) {
	rt := p.rt
	packet := p.header(proto)
	if proto.IsICMP() && rapid.IntRange(0, 4).Draw(rt, "other type") == 0 {
		packet.ICMPType = rapid.SampledFrom([]uint8{13, 15, 17, 10, 42}).Draw(rt, "type")
		if p.family == netfilter.IPv6 {
			packet.ICMPType = rapid.SampledFrom([]uint8{139, 128, 144, 200}).Draw(rt, "type")
		}
	}
	switch rapid.IntRange(0, 4).Draw(rt, "what") {
	case 0, 1:
		p.forward(packet)
	case 2, 3:
		p.exchange("server", p.back(packet))
	case 4:
		p.icmpError(packet)
	}
}

// icmpError sends an error about a packet of the flow, from either end or from a router on the way.
func (p *ctPlay) icmpError(about inet.Packet) {
	rt := p.rt
	router := rapid.Bool().Draw(rt, "router")
	place, inner := "server", about
	if seen, ok := p.learned[conntrack.TupleOf(&about)]; ok {
		inner.Src, inner.Dst, inner.SrcPort, inner.DstPort, inner.ICMPID = seen.Src, seen.Dst, seen.SrcPort, seen.DstPort, seen.ICMPID
	}
	if rapid.Bool().Draw(rt, "about a reply") {
		place, inner = "client", answered(about)
	}
	packet := inet.Packet{Proto: p.icmp(), Src: inner.Dst, Dst: inner.Src, ICMPType: inet.ICMPUnreachable, ICMPCode: 1, Inner: &inner}
	if p.family == netfilter.IPv6 {
		packet.ICMPType, packet.ICMPCode = inet.ICMPv6Unreachable, 3
	}
	if router {
		packet.Src = map[string]map[netfilter.Family]netip.Addr{
			"server": {netfilter.IPv4: netip.MustParseAddr("10.78.2.3"), netfilter.IPv6: netip.MustParseAddr("fd78:2::3")},
			"client": {netfilter.IPv4: netip.MustParseAddr("10.78.1.3"), netfilter.IPv6: netip.MustParseAddr("fd78:1::3")},
		}[place][p.family]
		packet.ICMPType = inet.ICMPTimeExceeded
		if p.family == netfilter.IPv6 {
			packet.ICMPType = inet.ICMPv6TimeExceeded
		}
		packet.ICMPCode = 0
	}
	p.exchange(place, packet)
}

// answered is the answer to a packet.
func answered(p inet.Packet) inet.Packet {
	p.Src, p.Dst, p.SrcPort, p.DstPort = p.Dst, p.Src, p.DstPort, p.SrcPort
	if answer, ok := conntrack.ICMPAnswer(p.Proto, p.ICMPType); ok {
		p.ICMPType = answer
	}
	return p
}

var sctpChunkChoices = []inet.SCTPChunkType{
	inet.SCTPInit, inet.SCTPInitAck, inet.SCTPCookieEcho, inet.SCTPCookieAck, inet.SCTPData, inet.SCTPSack, inet.SCTPHeartbeat,
	inet.SCTPHeartbeatAck, inet.SCTPAbort,
	inet.SCTPShutdown, inet.SCTPShutdownAck, inet.SCTPShutdownComplete, inet.SCTPError, 99,
}

// playSCTP lets one association speak.
func playSCTP(rt *rapid.T, p *ctPlay) {
	head := p.header(inet.SCTP)
	tags := [2]uint32{11, 22} // of the packets of each direction
	say := func(dir conntrack.Direction, tag uint32, chunks ...inet.SCTPChunk) {
		packet := head
		packet.VerificationTag, packet.Chunks = tag, chunks
		if dir == conntrack.Original {
			p.forward(packet)
			return
		}
		p.exchange("server", p.back(packet))
	}
	if rapid.IntRange(0, 3).Draw(rt, "handshake") > 0 {
		say(conntrack.Original, 0, inet.SCTPChunk{Type: inet.SCTPInit, InitTag: tags[conntrack.Reply]})
		say(conntrack.Reply, tags[conntrack.Reply], inet.SCTPChunk{Type: inet.SCTPInitAck, InitTag: tags[conntrack.Original]})
		say(conntrack.Original, tags[conntrack.Original], inet.SCTPChunk{Type: inet.SCTPCookieEcho}, inet.SCTPChunk{Type: inet.SCTPData})
		say(conntrack.Reply, tags[conntrack.Reply], inet.SCTPChunk{Type: inet.SCTPCookieAck})
	}
	for range rapid.IntRange(1, 12).Draw(rt, "packets") {
		dir := conntrack.Direction(rapid.IntRange(0, 1).Draw(rt, "from"))
		tag := tags[dir]
		switch rapid.IntRange(0, 7).Draw(rt, "tag") {
		case 0:
			tag = 33
		case 1:
			tag = tags[1-dir]
		}
		var chunks []inet.SCTPChunk
		for range rapid.IntRange(1, 2).Draw(rt, "chunks") {
			c := inet.SCTPChunk{Type: rapid.SampledFrom(sctpChunkChoices).Draw(rt, "chunk"), Flags: rapid.Uint8Range(0, 1).Draw(rt, "flags")}
			switch c.Type {
			case inet.SCTPInit:
				tag = 0
				fallthrough
			case inet.SCTPInitAck:
				c.InitTag = rapid.SampledFrom([]uint32{tags[1-dir], tags[1-dir], 44}).Draw(rt, "init tag")
			}
			chunks = append(chunks, c)
		}
		if tag == 0 && chunks[0].Type != inet.SCTPInit {
			tag = tags[dir]
		}
		say(dir, tag, chunks...)
	}
}

// playMixed lets flows of all protocols meet in NAT.
func playMixed(rt *rapid.T, p *ctPlay) {
	for range rapid.IntRange(1, 25).Draw(rt, "packets") {
		proto := rapid.SampledFrom([]inet.Proto{inet.TCP, inet.TCP, inet.UDP, inet.UDP, p.icmp(), 99}).Draw(rt, "proto")
		if proto != inet.TCP {
			p.datagram(proto)
			continue
		}
		packet := p.header(inet.TCP)
		packet.Numbers = &inet.TCPNumbers{Seq: 1000, Window: 8192}
		switch rapid.IntRange(0, 6).Draw(rt, "what") {
		case 6:
			p.icmpError(packet)
		case 0, 1, 2:
			packet.TCPFlags = inet.SYN
			packet.Numbers.Seq += rapid.SampledFrom([]uint32{0, 100}).Draw(rt, "isn")
			p.forward(packet)
		case 3:
			packet.TCPFlags, packet.Numbers.Ack = inet.SYN|inet.ACK, 1001
			p.exchange("server", p.back(packet))
		case 4:
			packet.TCPFlags, packet.Numbers.Seq, packet.Numbers.Ack = inet.ACK, 1001, 1001
			p.forward(packet)
		case 5:
			packet.TCPFlags, packet.Numbers.Seq, packet.Numbers.Ack = inet.RST, 1001, 1001
			p.exchange("server", p.back(packet))
		}
	}
}
