package check

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// summed are the headers with a sum, which the kernel mends two bytes at a time: nft writes no single byte into them.
var summed = map[*syntax.Header]bool{
	syntax.HeaderIP: true, syntax.HeaderTCP: true, syntax.HeaderUDP: true, syntax.HeaderICMP: true, syntax.HeaderICMPv6: true,
	syntax.HeaderIGMP: true,
}

// writable says whether a value that depends on the packet, or comes from a map, can be written into a field. nft can do that only if the
// field is as long as what is written: otherwise it has to mix it with the bytes beside it, which works with constants alone.
func (c *stmtChecker) writable(s *syntax.SetPayload, field *syntax.Payload) bool {
	shift, mixed := mixing(field)
	if !mixed {
		return true
	}
	k := s.Value.Info()
	_, mapped := s.Value.(*syntax.Map)
	switch {
	case mapped && shift > 0:
		return c.wrong(fmt.Sprintf("Value %d exceeds valid range 0-0", shift), field.Loc)
	case mapped:
		return c.wrong("Binary operation (^) is undefined for map expressions", field.Loc)
	case shift >= k.Bits:
		return c.wrong(fmt.Sprintf("Left shift of %d bits is undefined for type of %d bits width", shift, k.Bits), field.Loc, k.Loc)
	case shift > 0:
		return c.wrong("Right hand side of binary operation (^) must be constant", field.Loc)
	}
	return c.wrong("Right hand side of binary operation (^) must be constant", k.Loc, field.Loc)
}

// mixing is how far to the left a value goes within the bytes that are written, and whether there are other bits in them.
func mixing(field *syntax.Payload) (shift int, mixed bool) {
	odd := summed[field.Header] && field.Bits/8&1 != 0
	if field.Offset%8 == 0 && field.Bits%8 == 0 && !odd {
		return 0, false
	}
	size := syntax.Bytes(field.Bits)
	shift = size*8 - (field.Offset%8 + field.Bits)
	for shift < 0 {
		shift += 8
		size++
	}
	if summed[field.Header] && size&1 != 0 && field.Offset/8&1 == 0 {
		shift += 8
	}
	return shift, true
}
