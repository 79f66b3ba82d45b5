package libc

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/chainwalk/chainwalk/internal/lazyregexp"
)

// blanks are what isspace takes for blank.
const blanks = " \t\n\v\f\r"

// CutNumber reads the number at the beginning of s as C does with base 0: decimal, 0x and
// hexadecimal, or 0 and octal. It returns what stands behind it.
func CutNumber(s []byte) (n uint64, rest []byte, ok bool) {
	for len(s) > 0 && (s[0] == ' ' || '\t' <= s[0] && s[0] <= '\r') {
		s = s[1:]
	}
	if len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	base := uint64(10)
	switch {
	case len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && Digit(s[2]) < 16:
		base, s = 16, s[2:]
	case len(s) > 0 && s[0] == '0':
		base = 8
	}
	if len(s) == 0 || Digit(s[0]) >= base {
		return 0, s, false
	}
	ok = true
	for len(s) > 0 && Digit(s[0]) < base {
		d := Digit(s[0])
		if n > (math.MaxUint64-d)/base {
			n, ok = math.MaxUint64, false
		} else if ok {
			n = n*base + d
		}
		s = s[1:]
	}
	return n, s, ok
}

// Digit is the value of a digit, 255 for another character.
func Digit(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 255
}

// WholeNumber is a number that is all of s and at most limit.
func WholeNumber(s []byte, limit uint64) (uint64, bool) {
	n, rest, ok := CutNumber(s)
	return n, ok && len(rest) == 0 && n <= limit
}

// WholeSigned is a number that is all of s, as strtoul reads it with base 0: what has a "-" before it is counted down from 0.
func WholeSigned(s []byte) (uint64, bool) {
	digits, negative := bytes.CutPrefix(bytes.TrimLeft(s, blanks), []byte("-"))
	if !negative {
		return WholeNumber(s, math.MaxUint64)
	}
	if len(digits) == 0 || Digit(digits[0]) > 9 {
		return 0, false
	}
	n, ok := WholeNumber(digits, math.MaxUint64)
	return -n, ok
}

// Atoi is what C's atoi makes of s: the decimal number at its beginning, of which an int keeps the lower 32 bits; else 0.
func Atoi(s []byte) int32 { return int32(Atoll(s)) }

// Atoll is what C's atoll makes of s: the decimal number at its beginning, or the nearest that there is place for; else 0.
func Atoll(s []byte) int64 {
	s = bytes.TrimLeft(s, blanks)
	sign := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		sign = 1
	}
	n, _ := strconv.ParseInt(string(s[:sign+leadingDigits(s[sign:])]), 10, 64)
	return n
}

// Decimal is what C's strtoul makes of s with base 10, if that is all of s.
func Decimal(s []byte) (uint64, bool) {
	n, rest, ok := CutDecimal(s)
	return n, ok && len(rest) == 0
}

// ScanUnsigned reads the number at the beginning of s as scanf of the C library does with %llu.
func ScanUnsigned(s []byte) (uint64, bool) {
	n, _, ok := CutDecimal(s)
	return n, ok
}

// ScanInteger reads the number at the beginning of s as scanf of the C library does with %i, for numbers that count something: what
// is negative or too great becomes 0.
func ScanInteger(s string) (int, bool) {
	s = strings.TrimLeft(s, blanks)
	digits, negative := strings.CutPrefix(s, "-")
	n, rest, ok := CutNumber([]byte(digits))
	switch {
	case len(rest) == len(digits):
		return 0, false
	case !ok || n > math.MaxInt32 || negative:
		return 0, true
	}
	return int(n), true
}

// CutDecimal reads the decimal number at the beginning of s as C does. It may have a sign; one that is too great becomes the
// greatest. It returns what stands behind it: all of s if there is no number.
func CutDecimal(s []byte) (n uint64, rest []byte, ok bool) {
	all := s
	s = bytes.TrimLeft(s, blanks)
	negative := len(s) > 0 && s[0] == '-'
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	digits := leadingDigits(s)
	n, err := strconv.ParseUint(string(s[:digits]), 10, 64)
	switch {
	case digits == 0:
		return 0, all, false
	case err != nil:
		return math.MaxUint64, s[digits:], true
	case negative:
		n = -n
	}
	return n, s[digits:], true
}

// CutHex is what C's strtoul makes of the beginning of s with base 16, 0 if there is no number, and what stands behind it.
func CutHex(s []byte) (n uint64, rest []byte) {
	digits := bytes.TrimLeft(s, blanks)
	negative := len(digits) > 0 && digits[0] == '-'
	if negative || len(digits) > 0 && digits[0] == '+' {
		digits = digits[1:]
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' && Digit(digits[2]) < 16 {
		digits = digits[2:]
	}
	end := 0
	for ; end < len(digits) && Digit(digits[end]) < 16; end++ {
		n = n<<4 | Digit(digits[end])
	}
	switch {
	case end == 0:
		return 0, s
	case end > 16:
		return math.MaxUint64, digits[end:]
	case negative:
		n = -n
	}
	return n, digits[end:]
}

// ScanHex reads the number at the beginning of s as scanf of the C library does with %x, of which there is place for 32 bits. It
// returns what stands behind it.
func ScanHex(s []byte) (n uint32, rest []byte, ok bool) {
	s = bytes.TrimLeft(s, blanks)
	negative := len(s) > 0 && s[0] == '-'
	if negative || len(s) > 0 && s[0] == '+' {
		s = s[1:]
	}
	if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x' {
		s, ok = s[2:], true
	}
	var all uint64
	for len(s) > 0 && Digit(s[0]) < 16 {
		if all > math.MaxUint64>>4 {
			all = math.MaxUint64
		} else {
			all = all<<4 | Digit(s[0])
		}
		s, ok = s[1:], true
	}
	if n = uint32(all); negative {
		n = -n
	}
	return n, s, ok
}

// WholeFloat is the number that all of s says, as strtod of the C library reads it.
func WholeFloat(s []byte) (float64, bool) {
	f, rest, ok := CutFloat(s)
	return f, ok && len(rest) == 0
}

// CutFloat reads the number at the beginning of s as strtod of the C library does: decimal or hexadecimal, with an exponent, infinite, or
// not a number. It returns what stands behind it: all of s if there is no number.
func CutFloat(s []byte) (f float64, rest []byte, ok bool) {
	found := floatText().FindSubmatchIndex(s)
	if found == nil {
		return 0, s, false
	}
	text, rest := strings.ToLower(string(s[found[2]:found[3]])), s[found[1]:]
	digits := strings.TrimLeft(text, "+-")
	switch {
	case strings.HasPrefix(digits, "nan"):
		return math.NaN(), rest, true
	case strings.HasPrefix(digits, "0x") && !strings.Contains(digits, "p"):
		text += "p0"
	}
	f, _ = strconv.ParseFloat(text, 64) // what is too great is infinite
	return f, rest, true
}

// floatText is a number as strtod reads it, behind blanks.
var floatText = lazyregexp.New(`^[ \t\n\v\f\r]*((?i)[+-]?(?:0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?|` +
	`(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan(?:\([a-z0-9_]*\))?))`)

// Uint32 is what C makes of a number for 32 bits without a sign: the lower bits of its whole part, and 0 where even 64 bits have no place.
func Uint32(f float64) uint32 {
	if !(math.Abs(f) < 1<<63) {
		return 0
	}
	return uint32(int64(f))
}

// leadingDigits is the number of decimal digits that s begins with.
func leadingDigits(s []byte) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
