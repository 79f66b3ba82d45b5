package anonymise

import (
	"encoding/binary"
	"net/netip"
)

// disguise gives addresses other values, so that two addresses share as many leading bits after as before: what is in a
// prefix stays in it, and what is not does not get into it.
//
// Blocks that mean something stay what they are: loopback, multicast and IPv4 link-local addresses are left alone, private
// addresses stay private, each in its block. Of IPv4 the last byte stays, and of IPv6 the zeros that the last eight bytes
// begin with, so that the first address of a network is still the first.
type disguise struct {
	key   Key
	turn  uint32                // which of the key's disguises it is
	still map[netip.Prefix]bool // the bit behind such a prefix stays, since a range ends there
	known map[netip.Addr]netip.Addr
	// flipped says for prefixes that were met whether the bit behind them changes: addresses of a network share most of them.
	flipped map[netip.Prefix]bool
}

// block is a prefix that stays itself; whole says that all of its addresses do.
type block struct {
	prefix netip.Prefix
	whole  bool
}

var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), true},
	{netip.MustParsePrefix("10.0.0.0/8"), false},
	{netip.MustParsePrefix("100.64.0.0/10"), false},
	{netip.MustParsePrefix("127.0.0.0/8"), true},
	{netip.MustParsePrefix("169.254.0.0/16"), true},
	{netip.MustParsePrefix("172.16.0.0/12"), false},
	{netip.MustParsePrefix("192.168.0.0/16"), false},
	{netip.MustParsePrefix("224.0.0.0/3"), true},
	{netip.MustParsePrefix("::/64"), false},
	{netip.MustParsePrefix("::ffff:0:0/96"), false},
	{netip.MustParsePrefix("64:ff9b::/96"), false}, // IPv4 addresses behind NAT64
	{netip.MustParsePrefix("fc00::/8"), false},
	{netip.MustParsePrefix("fd00::/8"), false},
	{netip.MustParsePrefix("fe80::/64"), false}, // what follows may be made of a device's MAC address
	{netip.MustParsePrefix("ff00::/8"), true},
}

// address is the other value of an address. A zone of it goes.
func (d *disguise) address(a netip.Addr) netip.Addr {
	a = a.WithZone("")
	if a.Is4In6() {
		b := d.address(a.Unmap()).As4()
		return netip.AddrFrom16(netip.AddrFrom4(b).As16())
	}
	if other, ok := d.known[a]; ok {
		return other
	}
	out := a.AsSlice()
	for i := range a.BitLen() {
		if !d.stays(a, i) && d.flips(a, i) {
			out[i/8] ^= 0x80 >> (i % 8)
		}
	}
	other, _ := netip.AddrFromSlice(out)
	if d.known == nil {
		d.known = map[netip.Addr]netip.Addr{}
	}
	d.known[a] = other
	return other
}

// stays says whether a bit keeps its value, by the bits before it alone.
func (d *disguise) stays(a netip.Addr, bit int) bool {
	before, _ := a.Prefix(bit)
	for _, b := range blocks {
		if b.prefix.Addr().Is4() != a.Is4() {
			continue
		}
		if bit < b.prefix.Bits() && before.Contains(b.prefix.Addr()) || b.whole && b.prefix.Contains(a) {
			return true
		}
	}
	if d.still[before] {
		return true
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

// flips decides by chance that depends on nothing but the key and the bits before.
func (d *disguise) flips(a netip.Addr, bit int) bool {
	before, _ := a.Prefix(bit)
	if flips, met := d.flipped[before]; met {
		return flips
	}
	of := binary.BigEndian.AppendUint32(nil, d.turn)
	sum := d.key.chance("address", append(append(of, byte(bit), byte(a.BitLen())), before.Addr().AsSlice()...))
	flips := sum[0]&1 == 1
	if d.flipped == nil {
		d.flipped = map[netip.Prefix]bool{}
	}
	d.flipped[before] = flips
	return flips
}

// next is the key's next disguise.
func (d *disguise) next() {
	d.turn++
	d.known, d.flipped = nil, nil
}

// keepRange has the addresses from one to another stay a range: the bits on the way to both ends keep their values from where they part.
func (d *disguise) keepRange(first, last netip.Addr) {
	if first.Is4() != last.Is4() {
		return
	}
	if d.still == nil {
		d.still = map[netip.Prefix]bool{}
	}
	for bit := range first.BitLen() {
		a, _ := first.Prefix(bit)
		b, _ := last.Prefix(bit)
		if next, _ := first.Prefix(bit + 1); !next.Contains(last) {
			d.still[a], d.still[b] = true, true
		}
	}
}

// alone says whether an address stays what it is, whatever the key.
func (d *disguise) alone(a netip.Addr) bool {
	for bit := range a.BitLen() {
		if !d.stays(a, bit) {
			return false
		}
	}
	return true
}
