package packetsim

import (
	"encoding/binary"
	"errors"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// nftRegisters are the registers of nf_tables but for the verdict, as bytes of a little-endian machine (struct nft_regs in
// include/net/netfilter/nf_tables.h). A packet here does not give all of its bytes: unknown marks the bits without a known value.
type nftRegisters struct {
	data    [expr.RegisterBytes]byte
	unknown [expr.RegisterBytes]byte // 0 unless tainted
	tainted bool
}

var errRegisterUnknown = errors.New("packet: bytes are not known that the rule looks at: numbers, checksums, options and a payload " +
	"that are not given")

// put4 fills four bytes.
func (r *nftRegisters) put4(at uint8, value uint32) {
	r.set4(at, value)
	if r.tainted {
		clear(r.unknown[at : at+4])
	}
}

// set4 fills four bytes without saying that they are known.
func (r *nftRegisters) set4(at uint8, value uint32) {
	binary.LittleEndian.PutUint32(r.data[at:], value)
}

// get4 is four bytes.
func (r *nftRegisters) get4(at uint8) uint32 { return binary.LittleEndian.Uint32(r.data[at:]) }

// put8 fills eight bytes.
func (r *nftRegisters) put8(at uint8, value uint64) {
	r.put4(at, uint32(value))
	r.put4(at+4, uint32(value>>32))
}

// put fills registers with bytes, and what is left of the last one with zeros.
func (r *nftRegisters) put(at int, bytes []byte) {
	end := at + padded(len(bytes))
	n := copy(r.data[at:end], bytes)
	clear(r.data[at+n : end])
	if r.tainted {
		clear(r.unknown[at:end])
	}
}

// taint makes bits unknown.
func (r *nftRegisters) taint(at int, unknown []byte) {
	for i, bits := range unknown {
		if r.unknown[at+i] = bits; bits != 0 {
			r.tainted = true
		}
	}
}

// padded is a length in whole registers.
func padded(n int) int { return (n + 3) &^ 3 }

// bytes are so many bytes from a register on.
func (r *nftRegisters) bytes(at, n int) []byte { return r.data[at : at+n] }

// knows says whether so many bytes are known.
func (r *nftRegisters) knows(at, n int) bool {
	if !r.tainted {
		return true
	}
	for _, bits := range r.unknown[at : at+n] {
		if bits != 0 {
			return false
		}
	}
	return true
}
