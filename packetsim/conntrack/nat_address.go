package conntrack

import (
	"math/bits"

	"github.com/chainwalk/chainwalk/internal/jhash"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// chooseAddr gives the tuple an address of the range (find_best_ips_proto). Of several the kernel takes one by a hash of
// the connection's addresses, of the source alone with --persistent. The hash has no secret: it is the same on every little-endian machine.
func (r *Range) chooseAddr(t *Tuple, side Side, z Zone) {
	if !r.MinAddr.IsValid() {
		return
	}
	addr := &t.Src
	if side == Destination {
		addr = &t.Dst
	}
	if r.MinAddr == r.MaxAddr {
		*addr = r.MinAddr
		return
	}
	words, low, high := inet.AddrWords(*addr), inet.AddrWords(r.MinAddr), inet.AddrWords(r.MaxAddr)
	n := 4
	if addr.Is4() {
		n = 1
	}
	dst := inet.AddrWords(t.Dst)
	seed := uint32(0)
	if !r.Persistent {
		seed = bits.ReverseBytes32(dst[n-1]) ^ uint32(z.Number())
	}
	hash := jhash.Words(inet.MemoryWords(inet.AddrWords(t.Src)), seed)
	if side == Destination {
		dst = words
	}
	full := false
	for i := range n {
		first, span := low[i], high[i]-low[i]+1
		if full {
			first, span = 0, ^uint32(0)
		}
		words[i] = first + uint32(uint64(hash)*uint64(span)>>32)
		full = full || words[i] != high[i]
		if side == Destination {
			dst[i] = words[i]
		}
		if !r.Persistent {
			hash ^= bits.ReverseBytes32(dst[i])
		}
	}
	*addr = inet.WordsAddr(words, n)
}
