package fakeipt

import (
	"bytes"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// maskOf is the mask of the first n bits of an address of so many bits.
func maskOf(n, bits int) netip.Addr {
	var b [16]byte
	for i := range n {
		b[i/8] |= 0x80 >> (i % 8)
	}
	if bits == 32 {
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	return netip.AddrFrom16(b)
}

// maskBits is the length of the prefix that a mask stands for, or -1.
func maskBits(mask netip.Addr) int {
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

// appendSave appends "ADDRESS/MASK" as iptables-save prints it.
func (m *AddrMatch) appendSave(dst []byte) []byte {
	dst = append(libc.AppendInetNtop(dst, m.Addr), '/')
	if bits := maskBits(m.Mask); bits >= 0 {
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

// parseNumeric reads an address of the family as the tools do where they ask nobody for names.
func parseNumeric(s []byte, f Family) (netip.Addr, bool) {
	if f == IPv4 {
		a, parts := parseDotted(s)
		return a, parts > 0
	}
	return libc.InetPton(s, f.facts().bits)
}

// parseHost reads an address of the family as the tools do for -s and -d. No name is looked up.
func parseHost(s []byte, f Family) (netip.Addr, bool) {
	a, ok := parseNumeric(s, f)
	if ok {
		return a, true
	}
	a, err := libc.GetAddrInfo(s, f.facts().bits)
	return a, err == nil
}

// parseMask reads what follows the "/" of an address.
func parseMask(s []byte, f Family) (netip.Addr, error) {
	bits := f.facts().bits
	if n, ok := libc.WholeNumber(s, uint64(bits)); ok {
		return maskOf(int(n), bits), nil
	}
	if a, parts := parseDotted(s); f == IPv4 && parts == 4 {
		return a, nil
	}
	if a, ok := libc.InetPton(s, bits); ok {
		return a, nil
	}
	return netip.Addr{}, badParameter("invalid mask `%s' specified", s)
}

// parseHostMask reads "ADDRESS[/MASK]". The address is left as it is spelled.
func parseHostMask(s []byte, f Family) (AddrMatch, error) {
	host := s
	m := AddrMatch{Mask: f.facts().ones}
	if i := bytes.LastIndexByte(s, '/'); i >= 0 {
		host = s[:i]
		mask, err := parseMask(s[i+1:], f)
		if err != nil {
			return AddrMatch{}, err
		}
		m.Mask = mask
	}
	var ok bool
	if m.Mask == f.facts().zero {
		// With an empty mask the tool does not look at the address.
		m.Addr, ok = f.facts().zero, true
	} else {
		m.Addr, ok = parseHost(host, f)
	}
	if !ok {
		return AddrMatch{}, badParameter("host/network `%s' not found", host)
	}
	return m, nil
}

// resolvedAddr reads an address as the C library's resolver does where the tools ask it.
func resolvedAddr(s []byte, f Family) (netip.Addr, error) {
	a, err := libc.GetAddrInfo(s, f.facts().bits)
	if err != nil {
		return a, badParameter("getaddrinfo: %v\n", err)
	}
	return a, nil
}
