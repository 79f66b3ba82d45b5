package compile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// Numbers of enum nft_payload_csum_types and nft_payload_csum_flags.
const (
	csumInet    = 1
	csumSCTP    = 2
	csumPseudos = 1
)

// checksums are the headers that have one: where in bytes, and its kind.
var checksums = map[*syntax.Header][2]uint32{
	syntax.HeaderIP: {csumInet, 10}, syntax.HeaderTCP: {csumInet, 16}, syntax.HeaderUDP: {csumInet, 6}, syntax.HeaderICMP: {csumInet, 2},
	syntax.HeaderICMPv6: {csumInet, 2}, syntax.HeaderIGMP: {csumInet, 2}, syntax.HeaderSCTP: {csumSCTP, 8},
}

// setPayload writes into a header. Bits that are no whole bytes, and single bytes of what has a checksum, are written with the bytes around
// them (stmt_evaluate_payload in nft's src/evaluate.c).
func (g *generator) setPayload(s *syntax.SetPayload) {
	p, isPayload := s.Field.(*syntax.Payload)
	if !isPayload {
		g.refuse("writing into %T", s.Field)
		return
	}
	checksum := checksums[p.Header]
	write := &expr.Payload{
		Base: p.Base, Offset: uint32(p.Offset / 8), Len: uint32(syntax.Bytes(p.Bits)), Writes: true,
		CsumType: checksum[0], CsumOffset: checksum[1],
	}
	if inPseudoHeader(p) {
		write.CsumFlags = csumPseudos
	}
	needsWords := checksum[0] == csumInet
	if p.Offset%8 == 0 && p.Bits%8 == 0 && (!needsWords || p.Bits/8%2 == 0) {
		write.Sreg = g.value(s.Value)
		g.emit(s.Loc, write)
		return
	}
	first, end := p.Offset/8, (p.Offset+p.Bits+7)/8
	if needsWords && (end-first)%2 != 0 {
		if first%2 != 0 {
			first--
		} else {
			end++
		}
	}
	n, isConstant := g.constant(s.Value)
	if !isConstant {
		return
	}
	size := end - first
	shift := end*8 - p.Offset - p.Bits
	mask := not(shiftLeft(low(p.Bits), shift))
	reg := g.takeBits(wholeRegister).register()
	write.Offset, write.Len, write.Sreg = uint32(first), uint32(size), reg
	g.emit(p.Loc, &expr.Payload{Base: p.Base, Offset: write.Offset, Len: write.Len, Dreg: reg})
	g.emit(s.Loc, &expr.Bitwise{
		Sreg: reg, Dreg: reg, Len: size,
		Mask: appendNum(nil, mask, size, syntax.BigEndian), Xor: appendNum(nil, shiftLeft(n, shift), size, syntax.BigEndian),
	})
	g.emit(s.Loc, write)
}

// inPseudoHeader says whether the checksums of TCP and UDP include a field.
func inPseudoHeader(p *syntax.Payload) bool {
	if p.Field == nil || p.Header != syntax.HeaderIP && p.Header != syntax.HeaderIP6 {
		return false
	}
	switch p.Field.Name {
	case "saddr", "daddr", "protocol", "nexthdr", "length":
		return true
	}
	return false
}
