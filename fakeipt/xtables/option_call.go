package xtables

import (
	"bytes"
	"math"
	"net/netip"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// OptionCall is one option as it was given.
type OptionCall struct {
	Extension string // the extension's name
	Name      string
	Arg       []byte
	Invert    bool
	Family    netfilter.Family
	Proto     ProtoMatch            // what -p said up to here
	Next      func() ([]byte, bool) // a further argument

	Tool
}

// Number reads an option's value from low to high.
func (o *OptionCall) Number(low, high uint64) (uint64, error) {
	n, ok := libc.WholeNumber(o.Arg, high)
	if !ok || n < low {
		return 0, BadParameter("%s: bad value for option \"--%s\", or out of range (%d-%d).\n", o.Extension, o.Name, low, high)
	}
	return n, nil
}

// Uint32 reads a number of 32 bits.
func (o *OptionCall) Uint32() (uint32, error) {
	n, err := o.Number(0, math.MaxUint32)
	return uint32(n), err
}

// Numbers reads "LOW:HIGH" or one number; what is left out is the end of the range.
func (o *OptionCall) Numbers(limit uint64) (low, high uint64, err error) {
	var values [2]uint64
	count := 0
	for s := o.Arg; ; count++ {
		switch {
		case count == len(values):
			return 0, 0, BadParameter("%s: Too many components for option \"--%s\" (max: %d)\n", o.Extension, o.Name, count)
		case len(s) == 0 || s[0] == ':':
			if count == 1 {
				values[count] = limit
			}
		default:
			n, rest, ok := libc.CutNumber(s)
			if !ok || n > limit {
				return 0, 0, BadParameter("%s: bad value for option \"--%s\" near \"%s\", or out of range (0-%d).\n", o.Extension, o.Name, s, limit)
			}
			if len(rest) > 0 && rest[0] != ':' {
				return 0, 0, BadParameter("%s: Argument to \"--%s\" has unexpected characters near \"%s\".\n", o.Extension, o.Name, rest)
			}
			values[count], s = n, rest
		}
		if len(s) == 0 {
			break
		}
		s = s[1:]
	}
	if count == 0 {
		return values[0], values[0], nil
	}
	return values[0], values[1], nil
}

// BadValue is the error of an option's value that does not say anything.
func (o *OptionCall) BadValue(value []byte) error {
	return BadParameter("%s: Bad value for \"--%s\" option: \"%s\"", o.Extension, o.Name, value)
}

// NoPrefix is the length of a mask that is not a prefix.
const NoPrefix = 255

// PrefixLength reads the length of a prefix, or a mask, of which it gives the length.
func (o *OptionCall) PrefixLength(s []byte) (uint8, error) {
	bits := FactsOf(o.Family).Bits
	if n, ok := libc.WholeNumber(s, uint64(bits)); ok {
		return uint8(n), nil
	}
	mask, ok := libc.InetPton(s, bits)
	if o.Family == netfilter.IPv4 {
		// The last number fills what is left of a short mask.
		mask, ok = libc.InetAton(s)
	}
	if !ok {
		return 0, BadParameter("%s: bad value for option \"--%s\", neither a valid network mask nor valid CIDR (%d-%d).\n",
			o.Extension, o.Name, 0, bits)
	}
	if n := MaskBits(mask); n >= 0 {
		return uint8(n), nil
	}
	return NoPrefix, nil
}

// ResolvedAddr reads an option's address as the C library's resolver does where the tools ask it. A name must have one address.
func (o *OptionCall) ResolvedAddr(s []byte) (netip.Addr, error) {
	addrs, err := o.Names().GetAddrInfo(s, FactsOf(o.Family).Bits)
	switch {
	case err != nil:
		return netip.Addr{}, BadParameter("getaddrinfo: %v\n", err)
	case len(addrs) > 1:
		return netip.Addr{}, BadParameter("%s resolves to more than one address\n", s)
	}
	return addrs[0], nil
}

// ResolvedHostMask reads "ADDRESS[/LENGTH]" or "ADDRESS[/MASK]". A mask that is no prefix counts as all bits.
func (o *OptionCall) ResolvedHostMask() (AddrMatch, error) {
	host, length, slash := bytes.Cut(o.Arg, []byte("/"))
	m := AddrMatch{Mask: FactsOf(o.Family).Ones, Invert: o.Invert}
	var err error
	if m.Addr, err = o.ResolvedAddr(host); err != nil || !slash {
		return m, err
	}
	n, err := o.PrefixLength(length)
	if n != NoPrefix {
		m.Mask = MaskOf(int(n), FactsOf(o.Family).Bits)
	}
	return m, err
}

// ResolvedPorts reads "PORT", "PORT:PORT", "PORT:" or ":PORT".
func (o *OptionCall) ResolvedPorts() (PortRange, error) {
	ports := [2]uint16{AnyPort.Min, AnyPort.Max}
	count := 0
	for word := range bytes.SplitSeq(o.Arg, []byte(":")) {
		if count == len(ports) {
			return AnyPort, BadParameter("%s: Too many components for option \"--%s\" (max: %d)\n", o.Extension, o.Name, count)
		}
		if len(word) > 0 {
			var err error
			if ports[count], err = ResolvedPort(word); err != nil {
				return AnyPort, err
			}
		}
		count++
	}
	if count == 1 {
		ports[1] = ports[0]
	}
	return PortRange{Min: ports[0], Max: ports[1]}, nil
}

// Mark reads "VALUE[/MASK]" of an option.
func (o *OptionCall) Mark() (value, mask uint32, err error) {
	v, rest, ok := libc.CutNumber(o.Arg)
	if !ok || v > math.MaxUint32 {
		return 0, 0, o.badInteger()
	}
	m := uint64(math.MaxUint32)
	if len(rest) > 0 && rest[0] == '/' {
		if m, rest, ok = libc.CutNumber(rest[1:]); !ok || m > math.MaxUint32 {
			return 0, 0, o.badInteger()
		}
	}
	if len(rest) > 0 {
		return 0, 0, BadParameter("%s: trailing garbage after value for option \"--%s\".\n", o.Extension, o.Name)
	}
	return uint32(v), uint32(m), nil
}

// NamedMark reads "VALUE[/MASK]", or the name of the value 0, which has no mask.
func (o *OptionCall) NamedMark(first string) (value, mask uint32, err error) {
	n, rest, ok := libc.CutNumber(o.Arg)
	switch {
	case ok && n <= math.MaxUint32 && (len(rest) == 0 || rest[0] == '/'):
		return o.Mark()
	case string(o.Arg) != first:
		return 0, 0, BadParameter("%s: could not map name %s to an integer value for option \"--%s\".\n", o.Extension, o.Arg, o.Name)
	}
	return 0, math.MaxUint32, nil
}

// WantText refuses an option without text.
func WantText(o *OptionCall) error {
	if len(o.Arg) == 0 {
		return BadParameter("Argument must have a minimum length of 1 characters\n")
	}
	return nil
}

// WantLine refuses an option without text, or with several lines of it.
func WantLine(o *OptionCall) error {
	if bytes.IndexByte(o.Arg, '\n') >= 0 {
		return BadParameter("Newlines not allowed in --%s", o.Name)
	}
	return WantText(o)
}

// badInteger is the error of an option's value that is no number in its range.
func (o *OptionCall) badInteger() error {
	return BadParameter("%s: bad integer value for option \"--%s\", or out of range.\n", o.Extension, o.Name)
}
