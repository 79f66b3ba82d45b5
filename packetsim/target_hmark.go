package packetsim

import (
	"errors"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/internal/jhash"
	"github.com/chainwalk/chainwalk/packetsim/conntrack"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

var (
	errNoHashICMP  = errors.New(`packet: HMARK hashes an ICMP error by the packet that it quotes: add "quotes { PACKET }"`)
	errNoHashPorts = errors.New("not supported: HMARK by the ports of a packet of DCCP or UDP-Lite, which says none here")
)

// hmark is -j HMARK (net/netfilter/xt_HMARK.c): the packet's mark is a hash of what it goes from and to, the same in both directions.
func (tg *targets) hmark(s *skb, t *target.HMARK) fate {
	var from hashedTuple
	switch {
	case !t.Conntrack:
		from = tg.hashedPacket(s, t)
	case s.conn == nil:
		return goOn
	default:
		from = hashedConn(s.conn)
	}
	src, dst := hashedAddr(from.src, t.SrcMask), hashedAddr(from.dst, t.DstMask)
	hash := jhash.Words([]uint32{min(src, dst), max(src, dst), from.portsUnder(t)}, t.Rnd) ^ uint32(from.proto)&uint32(t.ProtoMask)
	s.Mark = jhash.Scale(hash, t.Modulus) + t.Offset
	return goOn
}

// hashedTuple is what HMARK hashes. Ports has the source's port in the upper half; hasPorts is false for protocols without.
type hashedTuple struct {
	src, dst netip.Addr
	proto    inet.Proto
	ports    uint32
	hasPorts bool
}

// hashedConn is the connection's: its first source, and that of its answers.
func hashedConn(c *conntrack.Conn) hashedTuple {
	there, back := c.Tuples[conntrack.Original], c.Tuples[conntrack.Reply]
	t := hashedTuple{src: there.Src, dst: back.Src, proto: there.Proto, hasPorts: there.Proto != inet.ICMP}
	switch {
	case there.Proto.HasPorts():
		t.ports = joinPorts(there.SrcPort, back.SrcPort)
	case there.Proto == inet.ICMPv6:
		t.ports = joinPorts(there.ICMPID, back.ICMPID)
	}
	return t
}

// hashedPacket is the packet's, or that of the packet that an ICMP error quotes.
func (tg *targets) hashedPacket(s *skb, t *target.HMARK) hashedTuple {
	p := &s.Packet
	if p.IsICMPError() {
		if p.Inner == nil {
			tg.fail(errNoHashICMP)
			return hashedTuple{src: p.Src, dst: p.Dst}
		}
		p = p.Inner
	}
	from := hashedTuple{src: p.Src, dst: p.Dst, proto: p.Proto}
	switch {
	case p.Proto.HasPorts():
		from.ports, from.hasPorts = joinPorts(p.SrcPort, p.DstPort), true
	case p.Proto == inet.ESP || p.Proto == inet.AH:
		if p.SPI != nil {
			from.ports = *p.SPI
		} else if portMask(t) != 0 {
			tg.fail(errNoSPI)
		}
		from.hasPorts = true
	case (p.Proto == protoDCCP || p.Proto == protoUDPLite) && portMask(t) != 0:
		tg.fail(errNoHashPorts)
	}
	return from
}

// Protocols with ports that a Packet does not have.
const (
	protoDCCP    inet.Proto = 33
	protoUDPLite inet.Proto = 136
)

func joinPorts(src, dst uint16) uint32 { return uint32(src)<<16 | uint32(dst) }

// portMask is the mask of ports or of the SPI: both are in one place.
func portMask(t *target.HMARK) uint32 {
	return joinPorts(t.SrcPortMask, t.DstPortMask) | t.SPIMask
}

// portsUnder are the ports under the rule's mask with what it sets, the smaller one as the upper half of what is in the memory of the
// machine.
func (h *hashedTuple) portsUnder(t *target.HMARK) uint32 {
	if !h.hasPorts {
		return 0
	}
	ports := h.ports&portMask(t) | joinPorts(t.SrcPortSet, t.DstPortSet) | t.SPISet
	src, dst := ports>>16, ports&0xffff
	return max(src, dst)<<16 | min(src, dst)
}

// hashedAddr is an address under the rule's mask: one of IPv6 as the sum of its words without carry. Without a mask it is 0.
func hashedAddr(addr, mask netip.Addr) uint32 {
	if !mask.IsValid() {
		return 0
	}
	a, m := inet.AddrWords(addr), inet.AddrWords(mask)
	return a[0]&m[0] ^ a[1]&m[1] ^ a[2]&m[2] ^ a[3]&m[3]
}
