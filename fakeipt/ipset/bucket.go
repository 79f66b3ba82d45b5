package ipset

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/chainwalk/chainwalk/internal/jhash"
)

// The kernel keeps the elements of a hash type in buckets, by a hash that begins with the set's initval, and lists them bucket by bucket
// (net/netfilter/ipset/ip_set_hash_gen.h).

// hashedKey is a key with its hash.
type hashedKey struct {
	key
	hash uint32
}

// byBucket puts keys, which are in the order they were added, into the order of the kernel's buckets. That is the kernel's own as long as
// no element was deleted from a bucket in which others stay.
func (s *set) byBucket(keys []key) {
	hashed := make([]hashedKey, len(keys))
	for i, k := range keys {
		hashed[i] = hashedKey{k, jhash.Words(s.words(k), s.options.initVal)}
	}
	// The kernel makes the table twice as large where a bucket would get more elements than it may have.
	for mask := s.options.hashSize - 1; ; mask = mask<<1 | 1 {
		slices.SortStableFunc(hashed, func(a, b hashedKey) int { return cmp.Compare(a.hash&mask, b.hash&mask) })
		if mask == math.MaxUint32 || !overflows(hashed, mask, int(s.options.bucketSize)) {
			break
		}
	}
	for i := range hashed {
		keys[i] = hashed[i].key
	}
}

// overflows says that one of the buckets, which are in order, has more elements than it may have.
func overflows(hashed []hashedKey, mask uint32, limit int) bool {
	for i := limit; i < len(hashed); i++ {
		if hashed[i].hash&mask == hashed[i-limit].hash&mask {
			return true
		}
	}
	return false
}

// words are a key as it lies in the memory of a little-endian machine (struct hash_ip4_elem and so on).
func (s *set) words(k key) []uint32 {
	b := k.addr.AsSlice()
	if k.addr2.IsValid() {
		b = append(b, k.addr2.AsSlice()...)
	}
	// Where there is a port as well, a prefix is kept in 7 bits, one less.
	switch s.kind.name {
	case "hash:net":
		b = append(b, 0, 0, 0, k.bits)
	case "hash:ip,port", "hash:ip,port,ip":
		b = append(binary.BigEndian.AppendUint16(b, k.port), k.proto, 0)
	case "hash:net,port":
		b = append(binary.BigEndian.AppendUint16(b, k.port), k.proto, k.bits-1)
	case "hash:ip,port,net":
		b = append(binary.BigEndian.AppendUint16(b, k.port), k.bits2-1, k.proto)
	}
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return words
}
