package packetsim

import "math/bits"

// jhash is the kernel's hash of words (jhash2 in include/linux/jhash.h), which is Bob Jenkins' lookup3.
func jhash(words []uint32, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(words))<<2 + seed
	b, c := a, a
	for ; len(words) > 3; words = words[3:] {
		a, b, c = jenkinsMix(a+words[0], b+words[1], c+words[2])
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
	return jenkinsFinal(a+words[0], b, c)
}

func jenkinsMix(a, b, c uint32) (uint32, uint32, uint32) {
	for _, turn := range [...]int{4, 6, 8, 16, 19, 4} {
		a -= c
		a ^= bits.RotateLeft32(c, turn)
		c += b
		a, b, c = b, c, a
	}
	return a, b, c
}

func jenkinsFinal(a, b, c uint32) uint32 {
	for _, turn := range [...]int{14, 11, 25, 16, 4, 14, 24} {
		c ^= b
		c -= bits.RotateLeft32(b, turn)
		a, b, c = b, c, a
	}
	return b
}

// scale brings a hash to a number below n (reciprocal_scale).
func scale(hash, n uint32) uint32 { return uint32(uint64(hash) * uint64(n) >> 32) }

// memoryWords are the words of an address as they lie in the memory of a little-endian machine, as the kernel hashes them.
func memoryWords(words [4]uint32) []uint32 {
	for i := range words {
		words[i] = bits.ReverseBytes32(words[i])
	}
	return words[:]
}
