package packetsim

import "math/bits"

// scale brings a hash to a number below n (reciprocal_scale).
func scale(hash, n uint32) uint32 { return uint32(uint64(hash) * uint64(n) >> 32) }

// memoryWords are the words of an address as they lie in the memory of a little-endian machine, as the kernel hashes them.
func memoryWords(words [4]uint32) []uint32 {
	for i := range words {
		words[i] = bits.ReverseBytes32(words[i])
	}
	return words[:]
}
