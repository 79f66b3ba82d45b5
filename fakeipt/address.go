package fakeipt

import (
	"bytes"
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

// Contains reports whether the address is one that the option names, before Invert.
func (m *AddrMatch) Contains(addr netip.Addr) bool {
	return addr.Is4() == m.Addr.Is4() && maskAddr(addr, m.Mask) == maskAddr(m.Addr, m.Mask)
}

// appendSave appends "ADDRESS/MASK" as iptables-save prints it.
func (m *AddrMatch) appendSave(dst []byte) []byte {
	dst = append(m.Addr.AppendTo(dst), '/')
	if bits := maskBits(m.Mask); bits >= 0 {
		return strconv.AppendInt(dst, int64(bits), 10)
	}
	return m.Mask.AppendTo(dst)
}

// parseIPv4 reads a dotted address. Like the tool it takes fewer than four
// numbers for the first ones, if partial allows that.
func parseIPv4(s []byte, partial bool) (netip.Addr, bool) {
	var b [4]byte
	n := 0
	for i := 0; ; {
		value, digits := 0, 0
		for i < len(s) && '0' <= s[i] && s[i] <= '9' && digits < 4 {
			value = value*10 + int(s[i]-'0')
			i++
			digits++
		}
		if digits == 0 || digits > 3 || value > 255 || n == 4 {
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
	return netip.AddrFrom4(b), n == 4 || partial
}

// parseAddr reads an address of the family.
func parseAddr(s []byte, f Family, partial bool) (netip.Addr, bool) {
	if f == IPv4 {
		return parseIPv4(s, partial)
	}
	a, err := netip.ParseAddr(string(s))
	if err != nil || a.Zone() != "" || !a.Is6() {
		return netip.Addr{}, false
	}
	return a, true
}

// parseMask reads what follows the "/" of an address.
func parseMask(s []byte, f Family) (netip.Addr, error) {
	bits := f.facts().bits
	if n, err := strconv.ParseUint(string(s), 10, 32); err == nil {
		if int(n) <= bits && n < 256 {
			return maskOf(int(n), bits), nil
		}
		return netip.Addr{}, badParameter("invalid mask `%s' specified", s)
	}
	if a, ok := parseAddr(s, f, false); ok {
		return a, nil
	}
	return netip.Addr{}, badParameter("invalid mask `%s' specified", s)
}

// parseHostMask reads "ADDRESS[/MASK]". The address is left as it is spelled.
func parseHostMask(s []byte, f Family) (AddrMatch, error) {
	host, maskText, slash := bytes.Cut(s, []byte("/"))
	m := AddrMatch{Mask: f.facts().ones}
	if slash {
		mask, err := parseMask(maskText, f)
		if err != nil {
			return AddrMatch{}, err
		}
		m.Mask = mask
	}
	addr, ok := parseAddr(host, f, slash)
	if slash && m.Mask == f.facts().zero {
		// With an empty mask the tool does not look at the address.
		addr, ok = f.facts().zero, true
	}
	if !ok {
		return AddrMatch{}, badParameter("host/network `%s' not found", host)
	}
	m.Addr = addr
	return m, nil
}
