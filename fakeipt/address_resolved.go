package fakeipt

import (
	"bytes"
	"net/netip"
)

// resolvedAddr reads an address as the C library's resolver does where the tools ask it. No name is looked up; what
// is none is told as on a host without a resolver.
func resolvedAddr(s []byte, f Family) (netip.Addr, error) {
	if a, ok := parseAddr(s, f); ok {
		return a, nil
	}
	short, isShort := parseAton(s)
	if isShort && f == IPv4 {
		return short, nil
	}
	other, err := netip.ParseAddr(string(s))
	if f == IPv4 && other.Is4In6() {
		return other.Unmap(), nil
	}
	if err == nil || isShort {
		return netip.Addr{}, badParameter("getaddrinfo: Address family for hostname not supported\n")
	}
	if numeric := len(bytes.Trim(s, "0123456789.")) == 0; numeric && f == IPv4 || !isHostName(s) {
		return netip.Addr{}, badParameter("getaddrinfo: Name or service not known\n")
	}
	return netip.Addr{}, badParameter("getaddrinfo: Temporary failure in name resolution\n")
}

// The lengths of a host's name and of a part of it.
const (
	maxName  = 253
	maxLabel = 63
)

// isHostName says that the C library would ask a server for a name.
func isHostName(s []byte) bool {
	name := bytes.TrimSuffix(s, []byte("."))
	if len(name) == 0 || len(name) > maxName || name[0] == '-' {
		return false
	}
	for label := range bytes.SplitSeq(name, []byte(".")) {
		if len(label) == 0 || len(label) > maxLabel {
			return false
		}
		for _, c := range label {
			if !plainByte(c) {
				return false
			}
		}
	}
	return true
}

// parseAton reads an IPv4 address of one to four numbers, of which the last one fills what is left.
func parseAton(s []byte) (netip.Addr, bool) {
	var addr uint64
	for i := range 4 {
		if len(s) == 0 || digitOf(s[0]) > 9 {
			return netip.Addr{}, false
		}
		n, rest, ok := cNumber(s)
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

// noPrefix is the length of a mask that is not a prefix.
const noPrefix = 255

// prefixLength reads the length of a prefix, or a mask, of which it gives the length.
func (o *optionCall) prefixLength(ext string, s []byte) (uint8, error) {
	bits := o.family.facts().bits
	if n, ok := wholeNumber(s, uint64(bits)); ok {
		return uint8(n), nil
	}
	mask, ok := parseAddr(s, o.family)
	if o.family == IPv4 {
		// The last number fills what is left of a short mask.
		mask, ok = parseAton(s)
	}
	if !ok {
		return 0, badParameter("%s: bad value for option \"--%s\", neither a valid network mask nor valid CIDR (%d-%d).\n", ext, o.name, 0, bits)
	}
	if n := maskBits(mask); n >= 0 {
		return uint8(n), nil
	}
	return noPrefix, nil
}

// resolvedHostMask reads "ADDRESS[/LENGTH]" or "ADDRESS[/MASK]". A mask that is no prefix counts as all bits.
func (o *optionCall) resolvedHostMask(ext string) (AddrMatch, error) {
	host, length, slash := bytes.Cut(o.arg, []byte("/"))
	m := AddrMatch{Mask: o.family.facts().ones, Invert: o.invert}
	var err error
	if m.Addr, err = resolvedAddr(host, o.family); err != nil || !slash {
		return m, err
	}
	n, err := o.prefixLength(ext, length)
	if n != noPrefix {
		m.Mask = maskOf(int(n), o.family.facts().bits)
	}
	return m, err
}

// resolvedPort reads a port as the C library's resolver does, which cuts great numbers down. No text is port 0.
func resolvedPort(s []byte) (uint16, error) {
	if len(s) == 0 {
		return 0, nil
	}
	if n, ok := cUnsigned(s); ok && int32(n) >= 0 {
		return uint16(n), nil
	}
	if port, ok := findService(s, 0); ok {
		return port, nil
	}
	return 0, badParameter("Port \"%s\" does not resolve to anything.\n", s)
}

// resolvedPorts reads "PORT", "PORT:PORT", "PORT:" or ":PORT".
func (o *optionCall) resolvedPorts(ext string) (PortRange, error) {
	ports := [2]uint16{anyPort.Min, anyPort.Max}
	count := 0
	for word := range bytes.SplitSeq(o.arg, []byte(":")) {
		if count == len(ports) {
			return anyPort, badParameter("%s: Too many components for option \"--%s\" (max: %d)\n", ext, o.name, count)
		}
		if len(word) > 0 {
			var err error
			if ports[count], err = resolvedPort(word); err != nil {
				return anyPort, err
			}
		}
		count++
	}
	if count == 1 {
		ports[1] = ports[0]
	}
	return PortRange{Min: ports[0], Max: ports[1]}, nil
}
