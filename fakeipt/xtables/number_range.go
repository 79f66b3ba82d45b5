package xtables

import (
	"math"
	"strconv"
)

// NumberRange is a range of numbers of 32 bits, both ends included, or with Invert every number outside of it.
type NumberRange struct {
	Min, Max uint32
	Invert   bool
}

// AnyNumber is the range of a match without that option.
var AnyNumber = NumberRange{Max: math.MaxUint32}

// isAny says whether every number is meant.
func (r NumberRange) isAny() bool { return r == AnyNumber }

// Contains reports whether the range, or with Invert what is outside of it, has the number.
func (r NumberRange) Contains(n uint32) bool { return (r.Min <= n && n <= r.Max) != r.Invert }

// NumberRange reads "LOW:HIGH" or one number.
func (o *OptionCall) NumberRange() (NumberRange, error) {
	low, high, err := o.Numbers(math.MaxUint32)
	return NumberRange{Min: uint32(low), Max: uint32(high), Invert: o.Invert}, err
}

func (r NumberRange) append(dst []byte) []byte {
	dst = strconv.AppendUint(dst, uint64(r.Min), 10)
	if r.Min != r.Max {
		dst = strconv.AppendUint(append(dst, ':'), uint64(r.Max), 10)
	}
	return dst
}

// AppendSave appends " [!] OPTION RANGE" where the range says anything, even if it is none of the numbers.
func (r NumberRange) AppendSave(dst []byte, option string) []byte {
	if r.Min == 0 && r.Max == math.MaxUint32 {
		return dst
	}
	return r.append(append(AppendOption(dst, option, r.Invert), ' '))
}

// AppendList appends "WORD[s]:[!]RANGE" where the range is not all numbers.
func (r NumberRange) AppendList(dst []byte, word string) []byte {
	if r.isAny() {
		return dst
	}
	dst = append(dst, word...)
	if r.Min != r.Max {
		dst = append(dst, 's')
	}
	return r.append(append(append(dst, ':'), Bang(r.Invert)...))
}

// HeaderLength is the length of a header, in bytes.
type HeaderLength struct {
	Value  uint32
	Invert bool
}

// HeaderLength reads the length of an extension header.
func (o *OptionCall) HeaderLength() (HeaderLength, error) {
	n, err := o.Uint32()
	return HeaderLength{n, o.Invert}, err
}

// AppendSave appends " [!] OPTION LENGTH".
func (l HeaderLength) AppendSave(dst []byte, option string) []byte {
	return strconv.AppendUint(append(AppendOption(dst, option, l.Invert), ' '), uint64(l.Value), 10)
}

// AppendList appends "length:[!]LENGTH".
func (l HeaderLength) AppendList(dst []byte) []byte {
	return strconv.AppendUint(append(append(dst, "length:"...), Bang(l.Invert)...), uint64(l.Value), 10)
}
