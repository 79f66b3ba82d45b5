package inet

import (
	"encoding/binary"
	"net/netip"
)

// IsSummed says whether the protocol's checksum is one that the kernel looks at, and that addresses are a part of, or what is quoted.
func (p *Packet) IsSummed() bool { return p.Proto == TCP || p.Proto == UDP || p.Proto.IsICMP() }

// Reckon adds to how far the checksum is off what becomes another word of one's complement in the packet, and not in the checksum.
func (p *Packet) Reckon(before, after uint16) {
	p.ChecksumOff = FoldSum(uint32(FoldSum(uint32(p.ChecksumOff)+uint32(after))) + uint32(^before))
	if p.ChecksumOff == 0xffff {
		p.ChecksumOff = 0
	}
}

// WordSum is the sum of an address's words in one's complement.
func WordSum(addr netip.Addr) uint16 {
	sum := uint32(0)
	for b := addr.AsSlice(); len(b) > 0; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	return FoldSum(sum)
}

// FoldSum brings a sum of words to one word.
func FoldSum(sum uint32) uint16 {
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16 + sum)
}
