package decompile

import (
	"encoding/binary"
	"math/bits"

	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// number is the number that bytes are if the first one weighs most. Of more than 16 bytes the last ones count.
func number(b []byte) syntax.Num {
	if len(b) > 16 {
		b = b[len(b)-16:]
	}
	if len(b) <= 8 {
		var n uint64
		for _, c := range b {
			n = n<<8 | uint64(c)
		}
		return syntax.Num{Lo: n}
	}
	var n syntax.Num
	for _, c := range b[:len(b)-8] {
		n.Hi = n.Hi<<8 | uint64(c)
	}
	n.Lo = binary.BigEndian.Uint64(b[len(b)-8:])
	return n
}

// swapped is a number of so many bytes whose first byte weighs least.
func swapped(n syntax.Num, size int) syntax.Num {
	switch size {
	case 1:
		return n
	case 2:
		return syntax.Num{Lo: uint64(bits.ReverseBytes16(uint16(n.Lo)))}
	case 4:
		return syntax.Num{Lo: uint64(bits.ReverseBytes32(uint32(n.Lo)))}
	case 8:
		return syntax.Num{Lo: bits.ReverseBytes64(n.Lo)}
	}
	all := syntax.Num{Hi: bits.ReverseBytes64(n.Lo), Lo: bits.ReverseBytes64(n.Hi)}
	return all.Right(uint(128 - 8*min(size, 16)))
}

// raw is a value whose type is not known yet: a number as if its first byte weighed most.
func raw(b []byte) *syntax.Value {
	return &syntax.Value{Common: syntax.Common{Bits: 8 * len(b)}, Num: number(b)}
}

// bytesOf are the bytes of a raw value.
func bytesOf(v *syntax.Value) []byte {
	size := syntax.Bytes(v.Bits)
	b := make([]byte, size)
	for i := range b {
		at := size - 1 - i
		if at >= 8 {
			b[i] = byte(v.Num.Hi >> (8 * (at - 8)))
		} else {
			b[i] = byte(v.Num.Lo >> (8 * at))
		}
	}
	return b
}

// settle gives the raw values within an expression their type and order of bytes; others stay as they are.
func settle(e syntax.Expr, t *syntax.Datatype, order syntax.ByteOrder) {
	switch e := e.(type) {
	case *syntax.Value:
		if e.Type == nil {
			settleValue(e, t, order)
		}
	case *syntax.Range:
		e.Type, e.Order = t, order
		settle(e.Min, t, order)
		settle(e.Max, t, order)
	case *syntax.Prefix:
		e.Type, e.Order = t, order
		settle(e.Of, t, order)
	case *syntax.Binop:
		if e.Type == nil {
			e.Type, e.Order = t, order
		}
		settle(e.Left, t, order)
		settle(e.Right, t, order)
	}
}

func settleValue(v *syntax.Value, t *syntax.Datatype, order syntax.ByteOrder) {
	if t != nil && t.Is(syntax.TypeString) {
		settleText(v, t)
		return
	}
	v.Type, v.Order = t, order
	if order == syntax.HostOrder || t == syntax.TypeBoolean { // fib gives four bytes
		v.Num = swapped(v.Num, syntax.Bytes(v.Bits))
	}
}

// settleText makes a text of a value. One whose last byte is no zero goes on: it was written with an asterisk.
func settleText(v *syntax.Value, t *syntax.Datatype) {
	b := bytesOf(v)
	end := 0
	for end < len(b) && b[end] != 0 {
		end++
	}
	if end > 0 && end < len(b) && v.Bits < t.Bits {
		v.Bits = t.Bits // iptables-nft compares a name no farther than its 0
	}
	v.Type, v.Order, v.Text, v.Num = t, syntax.HostOrder, string(b[:end]), syntax.Num{}
}

// isFlags says whether values of a type are bits that have names.
func isFlags(t *syntax.Datatype) bool {
	return t != nil && t.Base != nil && t.Base.ID == syntax.TypeBitmask.ID
}

// flagsOf are the single bits of a value, from the lowest on.
func flagsOf(v *syntax.Value) []syntax.Expr {
	var list []syntax.Expr
	for bit := range uint(v.Bits) {
		if one := (syntax.Num{Lo: 1}).Left(bit); v.Num.And(one) != (syntax.Num{}) {
			list = append(list, &syntax.Value{Common: v.Common, Num: one})
		}
	}
	return list
}

// flagList is the flags of a value, as they are written with commas.
func flagList(v *syntax.Value) syntax.Expr {
	flags := flagsOf(v)
	if len(flags) < 2 {
		return v
	}
	return &syntax.List{Common: v.Common, Items: flags}
}

// joined is the flags of a value, as they are written with "|".
func joined(v *syntax.Value) syntax.Expr {
	flags := flagsOf(v)
	if len(flags) < 2 {
		return v
	}
	all := flags[0]
	for _, flag := range flags[1:] {
		all = &syntax.Binop{Common: v.Common, Op: syntax.OpOr, Left: all, Right: flag}
	}
	return all
}

func bitLen(n syntax.Num) int {
	if n.Hi != 0 {
		return 64 + bits.Len64(n.Hi)
	}
	return bits.Len64(n.Lo)
}

func trailingZeros(n syntax.Num) int {
	if n.Lo != 0 {
		return bits.TrailingZeros64(n.Lo)
	}
	return 64 + bits.TrailingZeros64(n.Hi)
}

// allOnes is the number whose lowest bits are set.
func allOnes(count int) syntax.Num {
	switch {
	case count <= 0:
		return syntax.Num{}
	case count >= 128:
		return syntax.Num{Hi: ^uint64(0), Lo: ^uint64(0)}
	case count >= 64:
		return syntax.Num{Hi: 1<<(count-64) - 1, Lo: ^uint64(0)}
	default:
		return syntax.Num{Lo: 1<<count - 1}
	}
}

// run is a mask as ones that stand together: where the lowest is and how many there are; false for other masks.
func run(mask syntax.Num) (shift, count int, ok bool) {
	if mask == (syntax.Num{}) {
		return 0, 0, false
	}
	shift = trailingZeros(mask)
	count = bitLen(mask) - shift
	return shift, count, mask.Right(uint(shift)) == allOnes(count)
}

// prefixLen is how long a prefix is whose mask, of a number of so many bits, is given; false for other masks.
func prefixLen(mask syntax.Num, size int) (length int, ok bool) {
	if mask == (syntax.Num{}) {
		return 0, true
	}
	shift, count, ok := run(mask)
	return count, ok && shift+count == size
}

// withPrefixes says whether values of a type are written with prefixes (DTYPE_F_PREFIX in nft).
func withPrefixes(t *syntax.Datatype) bool {
	if t == nil {
		return false
	}
	return t.Prefix || t == syntax.TypeMark || t == syntax.TypeRealm || t == syntax.TypeDevgroup
}
