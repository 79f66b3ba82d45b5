package syntax

import (
	"math/big"
	"math/bits"
)

// NumOf is a number of 64 bits.
func NumOf(n uint64) Num { return Num{Lo: n} }

// And has the bits that both numbers have.
func (n Num) And(m Num) Num { return Num{n.Hi & m.Hi, n.Lo & m.Lo} }

// Or has the bits that one of the two has.
func (n Num) Or(m Num) Num { return Num{n.Hi | m.Hi, n.Lo | m.Lo} }

// Xor has the bits that just one of the two has.
func (n Num) Xor(m Num) Num { return Num{n.Hi ^ m.Hi, n.Lo ^ m.Lo} }

// Left shifts by so many bits; what goes over 128 is lost.
func (n Num) Left(by uint) Num {
	if by >= 64 {
		return Num{Hi: n.Lo << (by - 64)}
	}
	return Num{n.Hi<<by | n.Lo>>(64-by), n.Lo << by}
}

// Right shifts by so many bits.
func (n Num) Right(by uint) Num {
	if by >= 64 {
		return Num{Lo: n.Hi >> (by - 64)}
	}
	return Num{n.Hi >> by, n.Lo>>by | n.Hi<<(64-by)}
}

// Cmp is -1, 0 or 1 as n is less than, equal to or greater than m.
func (n Num) Cmp(m Num) int {
	switch {
	case n == m:
		return 0
	case n.Hi < m.Hi, n.Hi == m.Hi && n.Lo < m.Lo:
		return -1
	}
	return 1
}

// IsZero says whether it is 0.
func (n Num) IsZero() bool { return n == Num{} }

// Next is the number after it; that of the greatest is 0.
func (n Num) Next() Num {
	lo, carry := bits.Add64(n.Lo, 1, 0)
	return Num{n.Hi + carry, lo}
}

// Previous is the number before it; that of 0 is the greatest.
func (n Num) Previous() Num {
	lo, borrow := bits.Sub64(n.Lo, 1, 0)
	return Num{n.Hi - borrow, lo}
}

// Ones is the number whose lowest bits are set, as many as are said.
func Ones(count int) Num {
	if count >= 128 {
		return Num{^uint64(0), ^uint64(0)}
	}
	return NumOf(1).Left(uint(count)).Previous()
}

// PrefixMask has the upper bits of a number of so many bits.
func PrefixMask(of, length int) Num { return Ones(of).Xor(Ones(of - length)) }

// FirstOne is the number of the lowest bit that is set; 128 if none is.
func (n Num) FirstOne() int {
	if n.Lo != 0 {
		return bits.TrailingZeros64(n.Lo)
	}
	return 64 + bits.TrailingZeros64(n.Hi)
}

// String is the number in decimal.
func (n Num) String() string {
	if n.Hi == 0 {
		return new(big.Int).SetUint64(n.Lo).String()
	}
	v := new(big.Int).SetUint64(n.Hi)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(n.Lo)).String()
}

// Bytes are the lowest bytes of the number, the first of them weighing most.
func (n Num) Bytes(count int) []byte {
	b := make([]byte, count)
	for i := count - 1; i >= 0; i-- {
		b[i] = byte(n.Lo)
		n = n.Right(8)
	}
	return b
}

// NumOfBytes is the number of at most 16 bytes of which the first weighs most.
func NumOfBytes(b []byte) Num {
	var n Num
	for _, c := range b {
		n = n.Left(8)
		n.Lo |= uint64(c)
	}
	return n
}

// Plus is the sum, of which the lowest 128 bits count.
func (n Num) Plus(m Num) Num {
	lo, carry := bits.Add64(n.Lo, m.Lo, 0)
	return Num{n.Hi + m.Hi + carry, lo}
}
