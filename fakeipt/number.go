package fakeipt

import (
	"bytes"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// number reads an option's value from low to high.
func (o *optionCall) number(ext string, low, high uint64) (uint64, error) {
	n, ok := libc.WholeNumber(o.arg, high)
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
			n, rest, ok := libc.CutNumber(s)
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

// isZero says that a number is 0 where C has 32 bits for it.
func isZero(s []byte) bool {
	n, _, ok := libc.CutNumber(bytes.TrimPrefix(s, []byte("-")))
	return ok && uint32(n) == 0
}
