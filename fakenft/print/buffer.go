package print

import (
	"math/bits"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// buffer is what has been printed. It writes what no option changes: words, numbers, addresses, strings of JSON.
type buffer struct{ b []byte }

func (p *buffer) str(s string) { p.b = append(p.b, s...) }

func (p *buffer) quoted(s string) {
	p.b = append(p.b, '"')
	p.b = append(p.b, s...)
	p.b = append(p.b, '"')
}

func (p *buffer) uint(n uint64) { p.b = strconv.AppendUint(p.b, n, 10) }

func (p *buffer) int(n int64) { p.b = strconv.AppendInt(p.b, n, 10) }

// padded appends n with zeros before it to a width.
func (p *buffer) padded(n uint64, width, base int) {
	var buf [32]byte
	digits := strconv.AppendUint(buf[:0], n, base)
	for i := len(digits); i < width; i++ {
		p.b = append(p.b, '0')
	}
	p.b = append(p.b, digits...)
}

// hex appends 0x and a number of at least width digits.
func (p *buffer) hex(n syntax.Num, width int) {
	p.str("0x")
	if n.Hi == 0 {
		p.padded(n.Lo, width, 16)
		return
	}
	p.padded(n.Hi, width-16, 16)
	p.padded(n.Lo, 16, 16)
}

func (p *buffer) ipv4(n syntax.Num) {
	for shift := 24; shift >= 0; shift -= 8 {
		p.uint(n.Lo >> shift & 0xff)
		if shift > 0 {
			p.b = append(p.b, '.')
		}
	}
}

func (p *buffer) ipv6(n syntax.Num) { p.b = libc.AppendInetNtop(p.b, netip.AddrFrom16(bytesOf(n))) }

func (p *buffer) linkLayer(n syntax.Num, octets int) {
	b := bytesOf(n)
	for i := max(0, len(b)-octets); i < len(b); i++ {
		if i > len(b)-octets {
			p.b = append(p.b, ':')
		}
		p.padded(uint64(b[i]), 2, 16)
	}
}

// classid is "major:minor" in hexadecimal, as tc has it.
func (p *buffer) classid(n uint64) {
	switch n {
	case 0:
		p.str("none")
	case 0xffffffff:
		p.str("root")
	default:
		p.padded(n>>16, 0, 16)
		p.b = append(p.b, ':')
		p.padded(n&0xffff, 0, 16)
	}
}

// names appends names as nft has several devices: without quotes.
func (p *buffer) names(list []string) {
	for i, name := range list {
		if i > 0 {
			p.str(", ")
		}
		p.str(name)
	}
}

// bytesOf are the last bytes of a number, the first of which weighs most.
func bytesOf(n syntax.Num) (b [16]byte) {
	for i := range 8 {
		b[i] = byte(n.Hi >> (56 - 8*i))
		b[8+i] = byte(n.Lo >> (56 - 8*i))
	}
	return b
}

// num appends a number in decimal.
func (p *buffer) num(n syntax.Num) {
	if n.Hi == 0 {
		p.uint(n.Lo)
		return
	}
	const billions uint64 = 1e19 // the largest power of ten in 64 bits
	hi, rest := n.Hi/billions, n.Hi%billions
	lo, last := bits.Div64(rest, n.Lo, billions)
	if hi == 0 && lo < billions {
		p.uint(lo)
	} else {
		top, middle := bits.Div64(hi, lo, billions)
		p.uint(top)
		p.padded(middle, 19, 10)
	}
	p.padded(last, 19, 10)
}
