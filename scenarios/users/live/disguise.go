package live

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
)

// disguise gives addresses other values, so that two addresses share as many leading bits after as before: what is in a
// prefix stays in it, and what is not does not get into it.
//
// Blocks that mean something stay what they are: loopback, link-local and multicast addresses are left alone, private
// addresses stay private, each in its block. Of IPv4 the last byte stays, and of IPv6 the zeros that the last eight bytes
// begin with, so that the first address of a network is still the first.
type disguise struct{ seed uint64 }

// block is a prefix that stays itself; whole says that all of its addresses do.
type block struct {
	prefix netip.Prefix
	whole  bool
}

func blocks() []block {
	return []block{
		{netip.MustParsePrefix("0.0.0.0/8"), true},
		{netip.MustParsePrefix("10.0.0.0/8"), false},
		{netip.MustParsePrefix("100.64.0.0/10"), false},
		{netip.MustParsePrefix("127.0.0.0/8"), true},
		{netip.MustParsePrefix("169.254.0.0/16"), true},
		{netip.MustParsePrefix("172.16.0.0/12"), false},
		{netip.MustParsePrefix("192.168.0.0/16"), false},
		{netip.MustParsePrefix("224.0.0.0/3"), true},
		{netip.MustParsePrefix("::/8"), true},
		{netip.MustParsePrefix("fc00::/8"), false},
		{netip.MustParsePrefix("fd00::/8"), false},
		{netip.MustParsePrefix("fe80::/10"), true},
		{netip.MustParsePrefix("ff00::/8"), true},
	}
}

// address is the other value of an address.
func (d disguise) address(a netip.Addr) netip.Addr {
	bytes := a.AsSlice()
	out := a.AsSlice()
	for i := range a.BitLen() {
		if !d.stays(a, i) && d.flips(bytes, i) {
			out[i/8] ^= 0x80 >> (i % 8)
		}
	}
	changed, _ := netip.AddrFromSlice(out)
	return changed
}

// stays says whether a bit keeps its value, by the bits before it alone.
func (d disguise) stays(a netip.Addr, bit int) bool {
	before, _ := a.Prefix(bit)
	for _, b := range blocks() {
		if b.prefix.Addr().Is4() != a.Is4() {
			continue
		}
		if bit < b.prefix.Bits() && before.Contains(b.prefix.Addr()) || b.whole && b.prefix.Contains(a) {
			return true
		}
	}
	if a.Is4() {
		return bit >= 24
	}
	if bit < 64 {
		return false
	}
	bytes := a.As16()
	host := binary.BigEndian.Uint64(bytes[8:])
	return host>>(128-bit) == 0 // shifts of 64 give 0
}

// flips decides by chance that depends on nothing but the seed and the bits before.
func (d disguise) flips(bytes []byte, bit int) bool {
	hash := sha256.New()
	var head [10]byte
	binary.BigEndian.PutUint64(head[:], d.seed)
	head[8], head[9] = byte(bit), byte(len(bytes))
	hash.Write(head[:])
	before := make([]byte, len(bytes))
	copy(before, bytes[:bit/8])
	if bit%8 > 0 {
		before[bit/8] = bytes[bit/8] &^ (0xff >> (bit % 8))
	}
	hash.Write(before)
	return hash.Sum(nil)[0]&1 == 1
}

// maxSeeds ends the search for a disguise. One in a few does.
const maxSeeds = 1000

// alone says whether an address is in a block that is left alone.
func alone(a netip.Addr) bool {
	return slices.ContainsFunc(blocks(), func(b block) bool { return b.whole && b.prefix.Contains(a) })
}

// disguiseFor finds a disguise in which no address comes out as one of those that are to be hidden.
func disguiseFor(addresses map[netip.Addr]bool) disguise {
	var d disguise
	for d.seed = 1; d.seed < maxSeeds; d.seed++ {
		hidden := true
		for a := range addresses {
			hidden = hidden && (alone(a) || !addresses[d.address(a)])
		}
		if hidden {
			break
		}
	}
	return d
}
