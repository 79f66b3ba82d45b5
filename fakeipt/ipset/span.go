package ipset

import (
	"math"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// addrSpan is an address, a net or a range.
type addrSpan struct {
	given    netip.Addr // before a length cuts it
	min, max netip.Addr
	ends     [2]netip.Addr // of a range, in the order in which they were given
	bits     uint8
	ranged   bool // "ADDRESS-ADDRESS"
	cidr     bool // "ADDRESS/LENGTH"
}

// parseSpan reads an address. Where a net is asked for, or many addresses are taken, it may be "ADDRESS/LENGTH",
// and with IPv4 "ADDRESS-ADDRESS".
func parseSpan(text string, f Family, net, many bool) (addrSpan, error) {
	width := f.bits()
	host, length, slash := cutAt(text, '/')
	first, last, dash := cutAt(text, '-')
	plainOnly := !many || !net && f == inet6
	switch {
	case plainOnly && (dash || slash && length != strconv.Itoa(width)):
		return addrSpan{}, errorf("Syntax error: plain IP address must be supplied: %s", text)
	case dash && f == inet6:
		return addrSpan{}, errorf("Syntax error: IP address or IP/cidr must be specified: %s", text)
	case slash:
		n, err := parseNumber(length, 0, math.MaxUint8)
		if err == nil {
			n, err = parseNumber(length, 0, uint64(width))
		}
		if err != nil {
			return addrSpan{}, err
		}
		a, err := parseAddr(host, f)
		if err != nil {
			return addrSpan{}, err
		}
		p := netip.PrefixFrom(a, int(n)).Masked()
		return addrSpan{given: a, min: p.Addr(), max: lastAddr(p), bits: uint8(n), cidr: true}, nil
	case dash:
		a, err := parseAddr(first, f)
		if err != nil {
			return addrSpan{}, err
		}
		b, err := parseAddr(last, f)
		ends := [2]netip.Addr{a, b}
		if err == nil && b.Less(a) {
			a, b = b, a
		}
		return addrSpan{ends: ends, given: a, min: a, max: b, bits: uint8(width), ranged: true}, err
	}
	a, err := parseAddr(text, f)
	return addrSpan{given: a, min: a, max: a, bits: uint8(width)}, err
}

// parseAddr reads an address, which may stand in brackets.
func parseAddr(text string, f Family) (netip.Addr, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, errorf("Syntax error: cannot find closing escape character ']' in %s", text)
		}
		text = inner
	}
	a, err := libc.GetAddrInfo([]byte(text), f.bits())
	if err != nil {
		return a, errorf("Syntax error: cannot parse %s: resolving to IPv%d address failed", text, f)
	}
	return a, nil
}

// appendGiven appends the address or range as it was given, in the library's words.
func (a *addrSpan) appendGiven(dst []byte) []byte {
	switch {
	case a.ranged:
		return libc.AppendInetNtop(append(libc.AppendInetNtop(dst, a.ends[0]), '-'), a.ends[1])
	case a.given.IsValid():
		return libc.AppendInetNtop(dst, a.given)
	}
	return dst
}

// spans calls f for each address of a span, or for each net that it is made of.
func (s *set) spans(a addrSpan, of part, f func(netip.Addr, uint8) error) error {
	if !a.min.IsValid() {
		return f(netip.Addr{}, 0)
	}
	width := uint8(a.min.BitLen())
	step := width
	switch {
	case of == partNet && !a.ranged:
		return f(a.min, a.bits)
	case of == partNet:
	case len(s.kind.parts) > 1:
		a = s.cutStart(a)
	case s.options.netMask != 0:
		step = s.options.netMask
	}
	for at := cutAddr(a.min, step); ; {
		n := step
		if of == partNet {
			n = netOfRange(at, a.max)
		}
		bitsOfKey := n
		if of != partNet {
			bitsOfKey = width
		}
		if err := f(at, bitsOfKey); err != nil {
			return err
		}
		end := lastAddr(netip.PrefixFrom(at, int(n)))
		if !end.Less(a.max) {
			return nil
		}
		at = end.Next()
	}
}

// cutStart puts the start of a span under the set's netmask. The kernel does not so with the other addresses of sets that have
// more than addresses (hash_ipport4_uadt): a net begins there, and a range goes on to where it was said to end.
func (s *set) cutStart(a addrSpan) addrSpan {
	start := s.cut(a.min)
	switch {
	case a.cidr:
		a.max = lastAddr(netip.PrefixFrom(start, int(a.bits)))
	case !a.ranged:
		a.max = start
	}
	a.min = start
	return a
}

// cut is an address under the set's netmask.
func (s *set) cut(a netip.Addr) netip.Addr {
	if s.options.netMask == 0 {
		return a
	}
	return cutAddr(a, s.options.netMask)
}

// netOfRange is the length of the greatest IPv4 net that begins at an address and does not go beyond another.
func netOfRange(at, last netip.Addr) uint8 {
	a, b := at.As4(), last.As4()
	from := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	to := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	free := bits.TrailingZeros32(from)
	for free > 0 && uint64(from)+1<<free-1 > uint64(to) {
		free--
	}
	return uint8(32 - free)
}

// lastAddr is the last address of a prefix.
func lastAddr(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
