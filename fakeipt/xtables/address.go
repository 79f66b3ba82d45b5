package xtables

import (
	"bytes"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// MaskOf is the mask of the first n bits of an address of so many bits.
func MaskOf(n, bits int) netip.Addr {
	var b [16]byte
	for i := range n {
		b[i/8] |= 0x80 >> (i % 8)
	}
	if bits == 32 {
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	return netip.AddrFrom16(b)
}

// MaskBits is the length of the prefix that a mask stands for, or -1.
func MaskBits(mask netip.Addr) int {
	n, end := 0, false
	for _, b := range mask.AsSlice() {
		for bit := byte(0x80); bit != 0; bit >>= 1 {
			switch {
			case b&bit == 0:
				end = true
			case end:
				return -1
			default:
				n++
			}
		}
	}
	return n
}

// MaskAddr is addr under mask, which need not be a prefix's. Both are of one family.
func MaskAddr(addr, mask netip.Addr) netip.Addr {
	if addr.Is4() {
		a, m := addr.As4(), mask.As4()
		for i := range a {
			a[i] &= m[i]
		}
		return netip.AddrFrom4(a)
	}
	a, m := addr.As16(), mask.As16()
	for i := range a {
		a[i] &= m[i]
	}
	return netip.AddrFrom16(a)
}

// AppendSave appends "ADDRESS/MASK" as iptables-save prints it.
func (m *AddrMatch) AppendSave(dst []byte) []byte {
	dst = append(libc.AppendInetNtop(dst, m.Addr), '/')
	if bits := MaskBits(m.Mask); bits >= 0 {
		return strconv.AppendInt(dst, int64(bits), 10)
	}
	return libc.AppendInetNtop(dst, m.Mask)
}

// parseDotted reads up to four numbers of any base with dots between them, as the tools do themselves; those left out
// at the end are 0.
func parseDotted(s []byte) (addr netip.Addr, parts int) {
	if a, ok := libc.InetPton(s, 32); ok {
		return a, 4
	}
	var b [4]byte
	for word := range bytes.SplitSeq(s, []byte(".")) {
		n, ok := libc.WholeNumber(word, 255)
		if !ok || parts == len(b) {
			return netip.Addr{}, 0
		}
		b[parts] = byte(n)
		parts++
	}
	return netip.AddrFrom4(b), parts
}

// ParseNumeric reads an address of the family as the tools do where they ask nobody for names.
func ParseNumeric(s []byte, f netfilter.Family) (netip.Addr, bool) {
	if f == netfilter.IPv4 {
		a, parts := parseDotted(s)
		return a, parts > 0
	}
	return libc.InetPton(s, FactsOf(f).Bits)
}

// parseName reads the name of a network or of a host, as the tools do for -s and -d.
func parseName(s []byte, f netfilter.Family, names *libc.Names) []netip.Addr {
	if f == netfilter.IPv4 {
		if a, ok := names.Network(string(s)); ok {
			return []netip.Addr{a}
		}
	}
	addrs, _ := names.GetAddrInfo(s, FactsOf(f).Bits)
	return addrs
}

// parseMask reads what follows the "/" of an address.
func parseMask(s []byte, f netfilter.Family) (netip.Addr, error) {
	bits := FactsOf(f).Bits
	if n, ok := libc.WholeNumber(s, uint64(bits)); ok {
		return MaskOf(int(n), bits), nil
	}
	if a, parts := parseDotted(s); f == netfilter.IPv4 && parts == 4 {
		return a, nil
	}
	if a, ok := libc.InetPton(s, bits); ok {
		return a, nil
	}
	return netip.Addr{}, BadParameter("invalid mask `%s' specified", s)
}

// ParseHostMask reads "ADDRESS[/MASK]", where a name may stand for several addresses. They are left as they are spelled.
func ParseHostMask(s []byte, f netfilter.Family, names *libc.Names) (addrs []netip.Addr, mask netip.Addr, named bool, err error) {
	host := s
	mask = FactsOf(f).Ones
	if i := bytes.LastIndexByte(s, '/'); i >= 0 {
		host = s[:i]
		if mask, err = parseMask(s[i+1:], f); err != nil {
			return nil, mask, false, err
		}
	}
	if mask == FactsOf(f).Zero {
		// With an empty mask the tool does not look at the address.
		return []netip.Addr{FactsOf(f).Zero}, mask, false, nil
	}
	if a, ok := ParseNumeric(host, f); ok {
		return []netip.Addr{a}, mask, false, nil
	}
	if addrs = parseName(host, f, names); addrs == nil {
		return nil, mask, true, BadParameter("host/network `%s' not found", host)
	}
	return addrs, mask, true, nil
}
