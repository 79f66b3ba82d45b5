package ipset

import (
	"encoding/binary"

	"github.com/chainwalk/chainwalk/internal/jhash"
)

// hashOf is the kernel's hash of a key, of which a table uses the lowest bits.
func (s *set) hashOf(k key) uint32 { return jhash.Words(s.words(k), s.options.initVal) }

// words are a key as it lies in the memory of a little-endian machine (struct hash_ip4_elem and so on). What of an interface is hashed is
// whether it is a port of a bridge.
func (s *set) words(k key) []uint32 {
	b := k.addr.AsSlice()
	if k.addr2.IsValid() {
		b = append(b, k.addr2.AsSlice()...)
	}
	// Where there is a port as well, a prefix is kept in 7 bits, one less.
	switch s.kind {
	case hashNet:
		b = append(b, 0, 0, 0, k.bits)
	case hashNetIface:
		b = append(b, byte(btoi(k.physdev)), k.bits, 0, 1)
	case hashIPPort, hashIPPortIP:
		b = append(binary.BigEndian.AppendUint16(b, k.port), k.proto, 0)
	case hashNetPort:
		b = append(binary.BigEndian.AppendUint16(b, k.port), k.proto, k.bits-1)
	case hashIPPortNet:
		b = append(binary.BigEndian.AppendUint16(b, k.port), k.bits2-1, k.proto)
	}
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return words
}
