package print

import (
	"math/bits"
	"net/netip"
	"strconv"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
	"github.com/chainwalk/chainwalk/internal/libc"
)

// num appends a number in decimal.
func (p *printer) num(n syntax.Num) {
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

// padded appends n with zeros before it to a width.
func (p *printer) padded(n uint64, width, base int) {
	var buf [32]byte
	digits := strconv.AppendUint(buf[:0], n, base)
	for i := len(digits); i < width; i++ {
		p.b = append(p.b, '0')
	}
	p.b = append(p.b, digits...)
}

// hex appends 0x and a number of at least width digits.
func (p *printer) hex(n syntax.Num, width int) {
	p.str("0x")
	if n.Hi == 0 {
		p.padded(n.Lo, width, 16)
		return
	}
	p.padded(n.Hi, width-16, 16)
	p.padded(n.Lo, 16, 16)
}

// bytesOf are the last bytes of a number, the first of which weighs most.
func bytesOf(n syntax.Num) (b [16]byte) {
	for i := range 8 {
		b[i] = byte(n.Hi >> (56 - 8*i))
		b[8+i] = byte(n.Lo >> (56 - 8*i))
	}
	return b
}

func (p *printer) ipv4(n syntax.Num) {
	for shift := 24; shift >= 0; shift -= 8 {
		p.uint(n.Lo >> shift & 0xff)
		if shift > 0 {
			p.b = append(p.b, '.')
		}
	}
}

func (p *printer) ipv6(n syntax.Num) { p.b = libc.AppendInetNtop(p.b, netip.AddrFrom16(bytesOf(n))) }

func (p *printer) linkLayer(n syntax.Num, octets int) {
	b := bytesOf(n)
	for i := max(0, len(b)-octets); i < len(b); i++ {
		if i > len(b)-octets {
			p.b = append(p.b, ':')
		}
		p.padded(uint64(b[i]), 2, 16)
	}
}

// duration appends milliseconds as "1d2h3m4s5ms", or with -T as seconds. Nothing is nothing, as in nft.
func (p *printer) duration(ms uint64) {
	if p.NumericTime {
		p.uint(ms / 1000)
		p.b = append(p.b, 's')
		return
	}
	for _, unit := range [...]struct {
		name string
		ms   uint64
	}{{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}} {
		if ms >= unit.ms {
			p.uint(ms / unit.ms)
			p.str(unit.name)
			ms %= unit.ms
		}
	}
}

// byteUnits are the units of sizes, each 1024 of the one before.
var byteUnits = [...]string{"bytes", "kbytes", "mbytes"}

// inUnits is a size in the largest unit that it is a multiple of.
func inUnits(size uint64) (uint64, string) {
	unit := 0
	for size != 0 && size%1024 == 0 && unit < len(byteUnits)-1 {
		size /= 1024
		unit++
	}
	return size, byteUnits[unit]
}
