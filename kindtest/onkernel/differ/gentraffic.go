package differ

import (
	"fmt"
	"net/netip"
	"slices"
)

// flow is a conversation that the generator goes on with.
type flow struct {
	from, proto string
	tuple       string // how the text of each packet in its first direction begins: "udp 10.78.1.2:40001 > 10.198.0.1:80"
	sends       []int  // numbers of its sends, from 1
}

// traffic makes a sequence of packets: some conversations, each with a few packets in either direction.
func (g *gen) traffic(packets int) []send {
	var sends []send
	var flows []*flow
	for len(sends) < packets {
		if len(flows) == 0 || len(flows) < 5 && g.chance(35) {
			f, s := g.newFlow()
			flows = append(flows, f)
			f.sends = append(f.sends, len(sends)+1)
			sends = append(sends, s)
			continue
		}
		if g.chance(3) {
			sends = append(sends, send{Forget: true})
			continue
		}
		f := flows[g.r.IntN(len(flows))]
		sends = append(sends, g.goOn(f))
	}
	return sends
}

func (g *gen) newFlow() (*flow, send) {
	f := &flow{from: g.oneOf(clientPlace, clientPlace, clientPlace, serverPlace, nodePlace)}
	f.proto = g.oneOf("tcp", "tcp", "tcp", "udp", "udp", "icmp", "sctp", "47")
	if len(g.protocols) > 0 && g.chance(50) {
		f.proto = g.oneOf(g.protocols...)
	}
	src, dst := g.sourceOf(f.from), g.destination()
	if f.from == nodePlace && src.IsLoopback() && !slices.Contains(g.w.node, dst) && !leadsBySource(dst) {
		src = g.w.node[0] // a raw socket gets past the check that keeps loopback sources in the host; others do not
	}
	if f.proto == "icmp" && g.w.node[0].Is6() {
		f.proto = "icmpv6"
	}
	switch f.proto {
	case "tcp", "udp", "sctp":
		f.tuple = fmt.Sprintf("%s %s > %s", f.proto, netip.AddrPortFrom(src, uint16(40001+g.r.IntN(3))), netip.AddrPortFrom(dst, g.port()))
	case "esp", "ah":
		number := map[string]string{"esp": "50", "ah": "51"}[f.proto]
		f.tuple = fmt.Sprintf("%s %s > %s spi %s", number, src, dst, g.oneOf("5", "0x11", "0xffffffff"))
	default:
		f.tuple = fmt.Sprintf("%s %s > %s", f.proto, src, dst)
	}
	s := send{From: f.from, Packet: f.tuple + g.extras(f)}
	if f.proto == "tcp" && g.chance(12) {
		s.Packet += " flags " + g.oneOf("ACK", "PSH,ACK", "SYN,ACK", "FIN,ACK", "RST", "NONE", "SYN,FIN", "FIN,PSH,URG", "SYN,ECE,CWR", "ACK,ECE",
			"ACK,CWR")
	}
	if f.proto == "icmp" && g.chance(20) {
		s.Packet += " type " + g.oneOf("0/0", "14/0", "30/0")
	}
	if f.proto == "icmpv6" && g.chance(20) {
		s.Packet += " type " + g.oneOf("129/0", "200/0")
	}
	return f, s
}

func (g *gen) extras(f *flow) string {
	s := ""
	if f.from == nodePlace && g.chance(40) {
		s += " mark " + g.oneOf("0x1", "0x3", "0x4000", "0x2", routedWord)
	}
	if f.from != nodePlace && g.chance(4) {
		s += " ttl 1"
	} else if g.chance(8) {
		s += " ttl " + g.oneOf("0", "2", "5", "63", "128", "255")
	}
	if g.chance(15) {
		s += " tos " + g.oneOf("0x10", "0x8", "0xb8", "0x2", "0x3", "0x29", "0xff")
	}
	if (f.proto == "tcp" || f.proto == "udp") && g.chance(20) {
		s += " payload " + g.oneOf("474554202f", "676574202f", "00", "0102030405060708090a0b0c0d0e0f10")
	}
	if f.proto == "tcp" && g.chance(30) {
		s += " mss " + g.oneOf("500", "536", "1220", "1460", "9000")
	}
	return s
}

func (g *gen) port() uint16 {
	return []uint16{80, 80, 80, 443, 53, 8080, 1000}[g.r.IntN(7)]
}

// sourceOf is an address of the place; now and then one that is not its own.
func (g *gen) sourceOf(place string) netip.Addr {
	list := g.w.clients
	switch {
	case place == nodePlace:
		list = g.w.node
	case place == serverPlace:
		list = g.w.servers
	}
	if place != nodePlace && g.chance(4) {
		list = g.w.services
	}
	return list[g.r.IntN(len(list))]
}

func (g *gen) destination() netip.Addr {
	lists := [][]netip.Addr{g.w.services, g.w.services, g.w.services, g.w.servers, g.w.servers, g.w.node, g.w.node, g.w.clients}
	list := lists[g.r.IntN(len(lists))]
	switch {
	case g.chance(4):
		list = g.w.deadEnds
	case g.chance(8):
		list = g.w.many
	}
	return list[g.r.IntN(len(list))]
}

// goOn is the next packet of a conversation.
func (g *gen) goOn(f *flow) send {
	n := f.sends[g.r.IntN(len(f.sends))]
	switch c := g.r.IntN(100); {
	case c < 40: // an answer
		s := send{Answers: n}
		if f.proto == "tcp" {
			s.Flags = g.oneOf("SYN,ACK", "SYN,ACK", "SYN,ACK", "ACK", "RST,ACK", "FIN,ACK", "PSH,ACK")
			s.OutOfWindow = g.chance(4)
		}
		if f.proto == "sctp" {
			s.Chunk = g.oneOf("INIT_ACK", "INIT_ACK", "COOKIE_ACK", "DATA", "SACK", "HEARTBEAT_ACK", "ABORT", "SHUTDOWN_ACK")
		}
		return s
	case c < 85: // again in the same direction
		s := send{From: f.from, Packet: f.tuple}
		if f.proto == "tcp" {
			s.Packet += " flags " + g.oneOf("ACK", "ACK", "PSH,ACK", "FIN,ACK", "RST", "SYN", "RST,ACK")
			s.OutOfWindow = g.chance(4)
		}
		if f.proto == "sctp" {
			s.Chunk = g.oneOf("INIT", "COOKIE_ECHO", "COOKIE_ECHO", "DATA", "HEARTBEAT", "ABORT", "SHUTDOWN")
		}
		return s
	default: // an ICMP error about it
		s := send{About: n}
		if g.w.node[0].Is6() {
			s.Type = g.oneOf("1/4", "1/1", "3/0", "2/0")
		} else {
			s.Type = g.oneOf("3/3", "3/1", "11/0", "3/4")
		}
		return s
	}
}
