// Package jhash is the kernel's hash of words (include/linux/jhash.h), which is Bob Jenkins' lookup3. Addresses are hashed with it, and
// elements of sets.
package jhash

import (
	"encoding/binary"
	"math/bits"
)

// Words is jhash2: the hash of words as they lie in the memory of the machine, with a seed.
func Words(words []uint32, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(words))<<2 + seed
	b, c := a, a
	for ; len(words) > 3; words = words[3:] {
		a, b, c = mix(a+words[0], b+words[1], c+words[2])
	}
	switch len(words) {
	case 0:
		return c
	case 3:
		c += words[2]
		fallthrough
	case 2:
		b += words[1]
	}
	return final(a+words[0], b, c)
}

// Bytes is jhash: the hash of any number of bytes.
func Bytes(key []byte, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(key)) + seed
	b, c := a, a
	for ; len(key) > 12; key = key[12:] {
		a, b, c = mix(a+little(key), b+little(key[4:]), c+little(key[8:]))
	}
	if len(key) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], key)
	return final(a+little(last[:]), b+little(last[4:]), c+little(last[8:]))
}

func little(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

func mix(a, b, c uint32) (uint32, uint32, uint32) {
	for _, turn := range [...]int{4, 6, 8, 16, 19, 4} {
		a -= c
		a ^= bits.RotateLeft32(c, turn)
		c += b
		a, b, c = b, c, a
	}
	return a, b, c
}

func final(a, b, c uint32) uint32 {
	for _, turn := range [...]int{14, 11, 25, 16, 4, 14, 24} {
		c ^= b
		c -= bits.RotateLeft32(b, turn)
		a, b, c = b, c, a
	}
	return b
}

// Scale brings a hash to a number below n (reciprocal_scale).
func Scale(hash, n uint32) uint32 { return uint32(uint64(hash) * uint64(n) >> 32) }
