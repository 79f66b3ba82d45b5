package fakeipt

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"
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

// maskAddr is addr under mask.
func maskAddr(addr, mask netip.Addr) netip.Addr {
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

// appendIP appends an address as the C library prints it, which has the last 32 bits of an IPv6 address in the form of
// IPv4 if all before them is zero and their upper half is not.
func appendIP(dst []byte, a netip.Addr) []byte {
	if a.Is6() && !a.Is4In6() {
		b := a.As16()
		if binary.BigEndian.Uint64(b[:8]) == 0 && b[8]|b[9]|b[10]|b[11] == 0 && b[12]|b[13] != 0 {
			return netip.AddrFrom4([4]byte(b[12:])).AppendTo(append(dst, "::"...))
		}
	}
	return a.AppendTo(dst)
}

// Contains reports whether the address is one that the option names, before Invert.
func (m *AddrMatch) Contains(addr netip.Addr) bool {
	return addr.Is4() == m.Addr.Is4() && maskAddr(addr, m.Mask) == maskAddr(m.Addr, m.Mask)
}

// appendSave appends "ADDRESS/MASK" as iptables-save prints it.
func (m *AddrMatch) appendSave(dst []byte) []byte {
	dst = append(appendIP(dst, m.Addr), '/')
	if bits := maskBits(m.Mask); bits >= 0 {
		return strconv.AppendInt(dst, int64(bits), 10)
	}
	return appendIP(dst, m.Mask)
}

// parseIPv4 reads a dotted address of four decimal numbers.
func parseIPv4(s []byte) (netip.Addr, bool) {
	var b [4]byte
	n := 0
	for i := 0; ; {
		value, start := 0, i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' && i-start < 4 {
			value = value*10 + int(s[i]-'0')
			i++
		}
		if i == start || i-start > 1 && s[start] == '0' || value > 255 || n == 4 {
			return netip.Addr{}, false
		}
		b[n] = byte(value)
		n++
		if i == len(s) {
			break
		}
		if s[i] != '.' {
			return netip.Addr{}, false
		}
		i++
	}
	return netip.AddrFrom4(b), n == 4
}

// parseDotted reads up to four numbers of any base with dots between them, as the tools do themselves; those left out
// at the end are 0.
func parseDotted(s []byte) (addr netip.Addr, parts int) {
	if a, ok := parseIPv4(s); ok {
		return a, 4
	}
	var b [4]byte
	for word := range bytes.SplitSeq(s, []byte(".")) {
		n, ok := wholeNumber(word, 255)
		if !ok || parts == len(b) {
			return netip.Addr{}, 0
		}
		b[parts] = byte(n)
		parts++
	}
	return netip.AddrFrom4(b), parts
}

// parseAddr reads an address of the family in its usual form.
func parseAddr(s []byte, f Family) (netip.Addr, bool) {
	if f == IPv4 {
		return parseIPv4(s)
	}
	a, err := netip.ParseAddr(string(s))
	if err != nil || a.Zone() != "" || !a.Is6() {
		return netip.Addr{}, false
	}
	return a, true
}

// parseNumeric reads an address of the family as the tools do where they ask nobody for names.
func parseNumeric(s []byte, f Family) (netip.Addr, bool) {
	if f == IPv4 {
		a, parts := parseDotted(s)
		return a, parts > 0
	}
	return parseAddr(s, f)
}

// parseHost reads an address of the family as the tools do for -s and -d. No name is looked up.
func parseHost(s []byte, f Family) (netip.Addr, bool) {
	a, ok := parseNumeric(s, f)
	if ok || f == IPv6 {
		return a, ok
	}
	if a, ok = parseAton(s); ok {
		return a, true
	}
	a, err := netip.ParseAddr(string(s))
	return a.Unmap(), err == nil && a.Is4In6()
}

// parseMask reads what follows the "/" of an address.
func parseMask(s []byte, f Family) (netip.Addr, error) {
	bits := f.facts().bits
	if n, ok := wholeNumber(s, uint64(bits)); ok {
		return maskOf(int(n), bits), nil
	}
	if a, parts := parseDotted(s); f == IPv4 && parts == 4 {
		return a, nil
	}
	if a, ok := parseAddr(s, f); ok {
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
