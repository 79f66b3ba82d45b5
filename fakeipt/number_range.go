package fakeipt

import (
	"math"
	"strconv"
)

// NumberRange is a range of numbers of 32 bits, both ends included, or with Invert every number outside of it.
type NumberRange struct {
	Min, Max uint32
	Invert   bool
}

// anyNumber is the range of a match without that option.
var anyNumber = NumberRange{Max: math.MaxUint32}

// isAny says whether every number is meant.
func (r NumberRange) isAny() bool { return r == anyNumber }

// Contains reports whether the range, or with Invert what is outside of it, has the number.
func (r NumberRange) Contains(n uint32) bool { return (r.Min <= n && n <= r.Max) != r.Invert }

// numberRange reads "LOW:HIGH" or one number.
func (o *optionCall) numberRange() (NumberRange, error) {
	low, high, err := o.numbers(math.MaxUint32)
	return NumberRange{Min: uint32(low), Max: uint32(high), Invert: o.invert}, err
}

func (r NumberRange) append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(r.Min), 10)
	if r.Min != r.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(r.Max), 10)
	}
	return dst
}

// appendSave appends " [!] OPTION RANGE" where the range says anything, even if it is none of the numbers.
func (r NumberRange) appendSave(dst []byte, option string) []byte {
	if r.Min == 0 && r.Max == math.MaxUint32 {
		return dst
	}
	return r.append(append(appendOption(dst, option, r.Invert), ' '))
}

// appendList appends "WORD[s]:[!]RANGE" where the range is not all numbers.
func (r NumberRange) appendList(dst []byte, word string) []byte {
	if r.isAny() {
		return dst
	}
	dst = append(dst, word...)
	if r.Min != r.Max {
		dst = append(dst, 's')
	}
	return r.append(append(append(dst, ':'), bang(r.Invert)...))
}

// HeaderLength is the length of a header, in bytes.
type HeaderLength struct {
	Value  uint32
	Invert bool
}

func (o *optionCall) headerLength() (HeaderLength, error) {
	n, err := o.uint32()
	return HeaderLength{n, o.invert}, err
}

// appendSave appends " [!] OPTION LENGTH".
func (l HeaderLength) appendSave(dst []byte, option string) []byte {
	return strconv.AppendUint(append(appendOption(dst, option, l.Invert), ' '), uint64(l.Value), 10)
}

// appendList appends "length:[!]LENGTH".
func (l HeaderLength) appendList(dst []byte) []byte {
	return strconv.AppendUint(append(append(dst, "length:"...), bang(l.Invert)...), uint64(l.Value), 10)
}
