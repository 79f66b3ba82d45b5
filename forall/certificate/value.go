package certificate

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"strconv"
)

// value is a value of a field as a number of 128 bits.
type value struct{ high, low uint64 }

func number(n uint64) value { return value{low: n} }

func (v value) compare(w value) int {
	return cmp.Or(cmp.Compare(v.high, w.high), cmp.Compare(v.low, w.low))
}

func (v value) less(w value) bool { return v.compare(w) < 0 }

// next is the value behind it; that behind the greatest is 0.
func (v value) next() value {
	if v.low++; v.low == 0 {
		v.high++
	}
	return v
}

// prev is the value before it, which is not 0.
func (v value) prev() value {
	if v.low == 0 {
		v.high--
	}
	v.low--
	return v
}

func valueOf(a netip.Addr) value {
	if a.Is4() {
		raw := a.As4()
		return number(uint64(binary.BigEndian.Uint32(raw[:])))
	}
	raw := a.As16()
	return value{binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])}
}

// valueOfBytes is a number whose first byte weighs most.
func valueOfBytes(b []byte) value {
	var raw [16]byte
	copy(raw[16-len(b):], b)
	return value{binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])}
}

// bytes are the last so many of the value, the first of which weighs most.
func (v value) bytes(size int) []byte {
	raw := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, v.high), v.low)
	return raw[16-size:]
}

func (v value) addr(six bool) netip.Addr {
	a, _ := netip.AddrFromSlice(v.bytes(addrSize(six)))
	return a
}

// addrSize is the length of an address in bytes.
func addrSize(six bool) int {
	if six {
		return 16
	}
	return 4
}

// span is the values from first to last.
type span struct{ first, last value }

func one(v value) span { return span{v, v} }

func (s span) has(v value) bool { return !v.less(s.first) && !s.last.less(v) }

func (s span) holds(t span) bool { return s.has(t.first) && s.has(t.last) }

func (s span) meets(t span) bool { return !s.last.less(t.first) && !t.last.less(s.first) }

func (s span) isOne() bool { return s.first == s.last }

// size is how many values are in it, as nearly as a float can say it.
func (s span) size() float64 {
	last := s.last
	if last.low < s.first.low {
		last.high--
	}
	return float64(last.high-s.first.high)*(1<<64) + float64(last.low-s.first.low) + 1
}

// spanOf is the addresses of a prefix.
func spanOf(p netip.Prefix) span {
	p = p.Masked()
	s := one(valueOf(p.Addr()))
	switch host := p.Addr().BitLen() - p.Bits(); {
	case host >= 128:
		s.last = value{math.MaxUint64, math.MaxUint64}
	case host >= 64:
		s.last.low = math.MaxUint64
		s.last.high |= 1<<(host-64) - 1
	default:
		s.last.low |= 1<<host - 1
	}
	return s
}

// field is a part of a packet that boxes are about.
type field uint8

const (
	dst field = iota
	dstPort
	proto
	src
	srcPort
	fields
)

var fieldNames = [...]string{dst: "destination", dstPort: "port", proto: "protocol", src: "source", srcPort: "source port"}

// whole is all values of a field.
func (f field) whole(six bool) span {
	switch f {
	case dst, src:
		if six {
			return span{last: value{math.MaxUint64, math.MaxUint64}}
		}
		return span{last: number(math.MaxUint32)}
	case proto:
		return span{last: number(math.MaxUint8)}
	}
	return span{last: number(math.MaxUint16)}
}

// text is a value of the field as people write it.
func (f field) text(v value, six bool) string {
	if f == dst || f == src {
		return v.addr(six).String()
	}
	return strconv.FormatUint(v.low, 10)
}
