package fakeipt

import (
	"bytes"
	"net/netip"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// resolvedAddr reads an address as the C library's resolver does where the tools ask it.
func resolvedAddr(s []byte, f Family) (netip.Addr, error) {
	a, err := libc.GetAddrInfo(s, f.facts().bits)
	if err != nil {
		return a, badParameter("getaddrinfo: %v\n", err)
	}
	return a, nil
}

// noPrefix is the length of a mask that is not a prefix.
const noPrefix = 255

// prefixLength reads the length of a prefix, or a mask, of which it gives the length.
func (o *optionCall) prefixLength(ext string, s []byte) (uint8, error) {
	bits := o.family.facts().bits
	if n, ok := libc.WholeNumber(s, uint64(bits)); ok {
		return uint8(n), nil
	}
	mask, ok := libc.InetPton(s, bits)
	if o.family == IPv4 {
		// The last number fills what is left of a short mask.
		mask, ok = libc.InetAton(s)
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
	if n, ok := libc.Decimal(s); ok && int32(n) >= 0 {
		return uint16(n), nil
	}
	if port, ok := libc.Service(s, 0); ok {
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
