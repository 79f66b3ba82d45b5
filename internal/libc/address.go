package libc

import (
	"encoding/binary"
	"net/netip"
)

// InetPton reads an address of so many bits, 32 or 128, in its usual form.
func InetPton(s []byte, bits int) (netip.Addr, bool) {
	if bits == 32 {
		return parseDotted(s)
	}
	a, err := netip.ParseAddr(string(s))
	if err != nil || a.Zone() != "" || !a.Is6() {
		return netip.Addr{}, false
	}
	return a, true
}

// parseDotted reads a dotted address of four decimal numbers.
func parseDotted(s []byte) (netip.Addr, bool) {
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

// InetAton reads an IPv4 address of one to four numbers, of which the last one fills what is left.
func InetAton(s []byte) (netip.Addr, bool) {
	var addr uint64
	for i := range 4 {
		if len(s) == 0 || Digit(s[0]) > 9 {
			return netip.Addr{}, false
		}
		n, rest, ok := CutNumber(s)
		room := uint(8 * (4 - i))
		if !ok {
			return netip.Addr{}, false
		}
		if len(rest) == 0 {
			addr |= n
			return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), n < 1<<room
		}
		if rest[0] != '.' || n > 255 {
			return netip.Addr{}, false
		}
		addr |= n << (room - 8)
		s = rest[1:]
	}
	return netip.Addr{}, false
}

// AppendInetNtop appends an address as the C library prints it, which has the last 32 bits of an IPv6 address in the form of
// IPv4 if all before them is zero and their upper half is not.
func AppendInetNtop(dst []byte, a netip.Addr) []byte {
	if a.Is6() && !a.Is4In6() {
		b := a.As16()
		if binary.BigEndian.Uint64(b[:8]) == 0 && b[8]|b[9]|b[10]|b[11] == 0 && b[12]|b[13] != 0 {
			return netip.AddrFrom4([4]byte(b[12:])).AppendTo(append(dst, "::"...))
		}
	}
	return a.AppendTo(dst)
}
