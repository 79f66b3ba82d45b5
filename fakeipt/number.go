package fakeipt

import (
	"bytes"
	"math"
	"strconv"
)

// cNumber reads the number at the beginning of s as C does with base 0: decimal, 0x and
// hexadecimal, or 0 and octal. It returns what stands behind it.
func cNumber(s []byte) (n uint64, rest []byte, ok bool) {
	for len(s) > 0 && (s[0] == ' ' || '\t' <= s[0] && s[0] <= '\r') {
		s = s[1:]
	}
	if len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	base := uint64(10)
	switch {
	case len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && digitOf(s[2]) < 16:
		base, s = 16, s[2:]
	case len(s) > 0 && s[0] == '0':
		base = 8
	}
	if len(s) == 0 || digitOf(s[0]) >= base {
		return 0, s, false
	}
	ok = true
	for len(s) > 0 && digitOf(s[0]) < base {
		d := digitOf(s[0])
		if n > (math.MaxUint64-d)/base {
			n, ok = math.MaxUint64, false
		} else if ok {
			n = n*base + d
		}
		s = s[1:]
	}
	return n, s, ok
}

// digitOf is the value of a digit, 255 for what is none.
func digitOf(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 255
}

// wholeNumber is a number that is all of s and at most limit.
func wholeNumber(s []byte, limit uint64) (uint64, bool) {
	n, rest, ok := cNumber(s)
	return n, ok && len(rest) == 0 && n <= limit
}

// number reads an option's value from low to high.
func (o *optionCall) number(ext string, low, high uint64) (uint64, error) {
	n, ok := wholeNumber(o.arg, high)
	if !ok || n < low {
		return 0, badParameter("%s: bad value for option \"--%s\", or out of range (%d-%d).\n", ext, o.name, low, high)
	}
	return n, nil
}

// numbers reads "LOW:HIGH" or one number; what is left out is the end of the range.
func (o *optionCall) numbers(ext string, limit uint64) (low, high uint64, err error) {
	var values [2]uint64
	count := 0
	for s := o.arg; ; count++ {
		switch {
		case count == len(values):
			return 0, 0, badParameter("%s: Too many components for option \"--%s\" (max: %d)\n", ext, o.name, count)
		case len(s) == 0 || s[0] == ':':
			if count == 1 {
				values[count] = limit
			}
		default:
			n, rest, ok := cNumber(s)
			if !ok || n > limit {
				return 0, 0, badParameter("%s: bad value for option \"--%s\" near \"%s\", or out of range (0-%d).\n", ext, o.name, s, limit)
			}
			if len(rest) > 0 && rest[0] != ':' {
				return 0, 0, badParameter("%s: Argument to \"--%s\" has unexpected characters near \"%s\".\n", ext, o.name, rest)
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
func (o *optionCall) badValue(ext string, value []byte) error {
	return badParameter("%s: Bad value for \"--%s\" option: \"%s\"", ext, o.name, value)
}

// cDecimal is what C's atoi makes of s: the decimal number at its beginning, else 0.
func cDecimal(s []byte) int64 {
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	var n int64
	for len(s) > 0 && '0' <= s[0] && s[0] <= '9' {
		if n > math.MaxInt64/16 {
			break
		}
		n, s = n*10+int64(s[0]-'0'), s[1:]
	}
	if negative {
		return -n
	}
	return n
}

// cUnsigned is what C's strtoul makes of s with base 10, if that is all of s.
func cUnsigned(s []byte) (uint64, bool) {
	n, rest, ok := cutUnsigned(s)
	return n, ok && len(rest) == 0
}

// scanUnsigned reads the number at the beginning of s as scanf of the C library does with %llu.
func scanUnsigned(s []byte) (uint64, bool) {
	n, _, ok := cutUnsigned(s)
	return n, ok
}

// cutUnsigned reads the decimal number at the beginning of s. It may have a sign; one that is too great becomes the greatest.
func cutUnsigned(s []byte) (n uint64, rest []byte, ok bool) {
	s = bytes.TrimLeft(s, " \t\n\v\f\r")
	negative := len(s) > 0 && s[0] == '-'
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	digits := leadingDigits(s)
	n, err := strconv.ParseUint(string(s[:digits]), 10, 64)
	switch {
	case digits == 0:
		return 0, s, false
	case err != nil:
		return math.MaxUint64, s[digits:], true
	case negative:
		n = -n
	}
	return n, s[digits:], true
}

// isZero says that a number is 0 where C has 32 bits for it.
func isZero(s []byte) bool {
	n, _, ok := cNumber(bytes.TrimPrefix(s, []byte("-")))
	return ok && uint32(n) == 0
}

// leadingDigits is the number of decimal digits that s begins with.
func leadingDigits(s []byte) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
