package fakeipt

import (
	"bytes"
	"math"

	"github.com/chainwalk/chainwalk/internal/libc"
	"github.com/chainwalk/chainwalk/netfilter"
)

// optionCall is one option as it was given.
type optionCall struct {
	ext    string // the extension's name
	name   string
	arg    []byte
	invert bool
	family netfilter.Family
	proto  ProtoMatch            // what -p said up to here
	next   func() ([]byte, bool) // a further argument

	caller
}

// number reads an option's value from low to high.
func (o *optionCall) number(low, high uint64) (uint64, error) {
	n, ok := libc.WholeNumber(o.arg, high)
	if !ok || n < low {
		return 0, badParameter("%s: bad value for option \"--%s\", or out of range (%d-%d).\n", o.ext, o.name, low, high)
	}
	return n, nil
}

// uint32 reads a number of 32 bits.
func (o *optionCall) uint32() (uint32, error) {
	n, err := o.number(0, math.MaxUint32)
	return uint32(n), err
}

// numbers reads "LOW:HIGH" or one number; what is left out is the end of the range.
func (o *optionCall) numbers(limit uint64) (low, high uint64, err error) {
	var values [2]uint64
	count := 0
	for s := o.arg; ; count++ {
		switch {
		case count == len(values):
			return 0, 0, badParameter("%s: Too many components for option \"--%s\" (max: %d)\n", o.ext, o.name, count)
		case len(s) == 0 || s[0] == ':':
			if count == 1 {
				values[count] = limit
			}
		default:
			n, rest, ok := libc.CutNumber(s)
			if !ok || n > limit {
				return 0, 0, badParameter("%s: bad value for option \"--%s\" near \"%s\", or out of range (0-%d).\n", o.ext, o.name, s, limit)
			}
			if len(rest) > 0 && rest[0] != ':' {
				return 0, 0, badParameter("%s: Argument to \"--%s\" has unexpected characters near \"%s\".\n", o.ext, o.name, rest)
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

// badValue is the error of an option's value that does not say anything.
func (o *optionCall) badValue(value []byte) error {
	return badParameter("%s: Bad value for \"--%s\" option: \"%s\"", o.ext, o.name, value)
}

// noPrefix is the length of a mask that is not a prefix.
const noPrefix = 255

// prefixLength reads the length of a prefix, or a mask, of which it gives the length.
func (o *optionCall) prefixLength(s []byte) (uint8, error) {
	bits := factsOf(o.family).bits
	if n, ok := libc.WholeNumber(s, uint64(bits)); ok {
		return uint8(n), nil
	}
	mask, ok := libc.InetPton(s, bits)
	if o.family == netfilter.IPv4 {
		// The last number fills what is left of a short mask.
		mask, ok = libc.InetAton(s)
	}
	if !ok {
		return 0, badParameter("%s: bad value for option \"--%s\", neither a valid network mask nor valid CIDR (%d-%d).\n",
			o.ext, o.name, 0, bits)
	}
	if n := maskBits(mask); n >= 0 {
		return uint8(n), nil
	}
	return noPrefix, nil
}

// resolvedHostMask reads "ADDRESS[/LENGTH]" or "ADDRESS[/MASK]". A mask that is no prefix counts as all bits.
func (o *optionCall) resolvedHostMask() (AddrMatch, error) {
	host, length, slash := bytes.Cut(o.arg, []byte("/"))
	m := AddrMatch{Mask: factsOf(o.family).ones, Invert: o.invert}
	var err error
	if m.Addr, err = o.resolvedAddr(host, o.family); err != nil || !slash {
		return m, err
	}
	n, err := o.prefixLength(length)
	if n != noPrefix {
		m.Mask = maskOf(int(n), factsOf(o.family).bits)
	}
	return m, err
}

// resolvedPorts reads "PORT", "PORT:PORT", "PORT:" or ":PORT".
func (o *optionCall) resolvedPorts() (PortRange, error) {
	ports := [2]uint16{anyPort.Min, anyPort.Max}
	count := 0
	for word := range bytes.SplitSeq(o.arg, []byte(":")) {
		if count == len(ports) {
			return anyPort, badParameter("%s: Too many components for option \"--%s\" (max: %d)\n", o.ext, o.name, count)
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

// mark reads "VALUE[/MASK]" of an option.
func (o *optionCall) mark() (value, mask uint32, err error) {
	v, rest, ok := libc.CutNumber(o.arg)
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
		return 0, 0, badParameter("%s: trailing garbage after value for option \"--%s\".\n", o.ext, o.name)
	}
	return uint32(v), uint32(m), nil
}

// namedMark reads "VALUE[/MASK]", or the name of the value 0, which has no mask.
func (o *optionCall) namedMark(first string) (value, mask uint32, err error) {
	n, rest, ok := libc.CutNumber(o.arg)
	switch {
	case ok && n <= math.MaxUint32 && (len(rest) == 0 || rest[0] == '/'):
		return o.mark()
	case string(o.arg) != first:
		return 0, 0, badParameter("%s: could not map name %s to an integer value for option \"--%s\".\n", o.ext, o.arg, o.name)
	}
	return 0, math.MaxUint32, nil
}

// wantText refuses an option without text.
func wantText(o *optionCall) error {
	if len(o.arg) == 0 {
		return badParameter("Argument must have a minimum length of 1 characters\n")
	}
	return nil
}

// wantLine refuses an option without text, or with several lines of it.
func wantLine(o *optionCall) error {
	if bytes.IndexByte(o.arg, '\n') >= 0 {
		return badParameter("Newlines not allowed in --%s", o.name)
	}
	return wantText(o)
}

// badInteger is the error of an option's value that is no number in its range.
func (o *optionCall) badInteger() error {
	return badParameter("%s: bad integer value for option \"--%s\", or out of range.\n", o.ext, o.name)
}
