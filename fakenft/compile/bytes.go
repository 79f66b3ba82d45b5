package compile

import (
	"github.com/chainwalk/chainwalk/fakenft/syntax"
)

// appendNum appends the low bytes of a number in an order of bytes; what is neither is in the network's.
func appendNum(dst []byte, n syntax.Num, size int, order syntax.ByteOrder) []byte {
	start := len(dst)
	for i := size - 1; i >= 0; i-- {
		switch {
		case i >= 16:
			dst = append(dst, 0)
		case i >= 8:
			dst = append(dst, byte(n.Hi>>(8*(i-8))))
		default:
			dst = append(dst, byte(n.Lo>>(8*i)))
		}
	}
	if order == syntax.HostOrder {
		reverse(dst[start:])
	}
	return dst
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

// isText says whether a value is a text: of a device, or a helper. The ends of intervals of texts are numbers.
func isText(v *syntax.Value) bool {
	return v.Text != "" || v.Type != nil && v.Num.IsZero() && v.Type.Is(syntax.TypeString)
}

func appendText(dst []byte, text string, size int) []byte {
	for i := range size {
		if i < len(text) {
			dst = append(dst, text[i])
		} else {
			dst = append(dst, 0)
		}
	}
	return dst
}

// appendValue appends the bytes of a value.
func appendValue(dst []byte, v *syntax.Value, order syntax.ByteOrder) []byte {
	size := syntax.Bytes(v.Bits)
	if isText(v) {
		return appendText(dst, v.Text, size)
	}
	return appendNum(dst, v.Num, size, order)
}

// pad fills up to whole registers of four bytes, counted from start.
func pad(dst []byte, start int) []byte {
	for (len(dst)-start)%4 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// ones is a number whose highest bits, so many of all, are set.
func ones(bits, all int) syntax.Num {
	return shiftLeft(low(bits), all-bits)
}

// low is a number whose lowest bits are set.
func low(bits int) syntax.Num {
	switch {
	case bits >= 128:
		return syntax.Num{Hi: ^uint64(0), Lo: ^uint64(0)}
	case bits >= 64:
		return syntax.Num{Hi: 1<<(bits-64) - 1, Lo: ^uint64(0)}
	default:
		return syntax.Num{Lo: 1<<bits - 1}
	}
}

func shiftLeft(n syntax.Num, by int) syntax.Num {
	switch {
	case by >= 64:
		return syntax.Num{Hi: n.Lo << (by - 64)}
	case by == 0:
		return n
	default:
		return syntax.Num{Hi: n.Hi<<by | n.Lo>>(64-by), Lo: n.Lo << by}
	}
}

func and(a, b syntax.Num) syntax.Num { return syntax.Num{Hi: a.Hi & b.Hi, Lo: a.Lo & b.Lo} }
func or(a, b syntax.Num) syntax.Num  { return syntax.Num{Hi: a.Hi | b.Hi, Lo: a.Lo | b.Lo} }
func xor(a, b syntax.Num) syntax.Num { return syntax.Num{Hi: a.Hi ^ b.Hi, Lo: a.Lo ^ b.Lo} }
func not(a syntax.Num) syntax.Num    { return syntax.Num{Hi: ^a.Hi, Lo: ^a.Lo} }
