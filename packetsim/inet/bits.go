package inet

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Bits is an address, or the name of a device, as two numbers. An IPv4 address is the last 32 bits, as it is in IPv6.
type Bits struct{ High, Low uint64 }

// BitsOf is the address as bits.
func BitsOf(a netip.Addr) Bits {
	if a.Is4() {
		b := a.As4()
		return Bits{Low: mapped4 | uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return Bits{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// mapped4 is what stands before an IPv4 address that is written as one of IPv6.
const mapped4 = 0xffff << 32

// BitsOfName is the name as bits.
func BitsOfName(name string) Bits {
	var b [16]byte
	copy(b[:], name)
	return Bits{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// Masked is the bits under a mask.
func (a Bits) Masked(mask Bits) Bits {
	return Bits{a.High & mask.High, a.Low & mask.Low}
}

// MappedBits is the bits of Bits before an IPv4 address.
const MappedBits = 96

// PrefixMask is the mask of a prefix of so many bits.
func PrefixMask(bits int, is4 bool) Bits {
	if is4 {
		bits += MappedBits
	}
	if bits <= 64 {
		return Bits{High: ^uint64(0) << (64 - bits)}
	}
	return Bits{^uint64(0), ^uint64(0) << (128 - bits)}
}

// MixBits multiplies as wyhash does: the upper half of each product holds bits of all that went into it.
func MixBits(x, y Bits, rest uint64) uint32 {
	high, low := bits.Mul64(x.High^rest^0x9e3779b97f4a7c15, x.Low^0xe7037ed1a0b428db)
	high, low = bits.Mul64(high^low^y.High^0x8ebc6af09c88c6e3, y.Low^rest^0x589965cc75374cc3)
	return uint32(high>>32) ^ uint32(low>>32) ^ uint32(high) ^ uint32(low)
}

// AddrWords are the 32-bit words of an address; an IPv4 address is the first one alone.
func AddrWords(addr netip.Addr) (words [4]uint32) {
	raw := addr.AsSlice()
	for i := range len(raw) / 4 {
		words[i] = binary.BigEndian.Uint32(raw[4*i:])
	}
	return words
}

// WordsAddr is the address of so many words.
func WordsAddr(words [4]uint32, n int) netip.Addr {
	var raw [16]byte
	for i := range n {
		binary.BigEndian.PutUint32(raw[4*i:], words[i])
	}
	addr, _ := netip.AddrFromSlice(raw[:4*n])
	return addr
}

// MemoryWords are the words of an address as they lie in the memory of a little-endian machine, as the kernel hashes them.
func MemoryWords(words [4]uint32) []uint32 {
	for i := range words {
		words[i] = bits.ReverseBytes32(words[i])
	}
	return words[:]
}
