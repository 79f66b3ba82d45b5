package nlattr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// ErrMessage says that the kernel's message is not what its reader knows, for errors.Is.
var ErrMessage = errors.New("unknown netlink message")

const (
	header    = 4
	alignment = 4
	// nested is NLA_F_NESTED.
	nested = 1 << 15
	// typeMask leaves out NLA_F_NESTED and NLA_F_NET_BYTEORDER.
	typeMask = 1<<14 - 1
)

// Attribute is one netlink attribute. Its value is a part of the message.
type Attribute struct {
	// Type is without the flags for nesting and byte order.
	Type  uint16
	Value []byte
}

// All goes through the attributes of a message after its headers, or of a nested attribute. It ends at the first error.
func All(data []byte) iter.Seq2[Attribute, error] {
	return func(yield func(Attribute, error) bool) {
		for len(data) > 0 {
			a, rest, err := next(data)
			if !yield(a, err) || err != nil {
				return
			}
			data = rest
		}
	}
}

// next splits off the first attribute.
func next(data []byte) (a Attribute, rest []byte, err error) {
	if len(data) < header {
		return a, nil, fmt.Errorf("%w: %d bytes after the last attribute", ErrMessage, len(data))
	}
	length := int(binary.NativeEndian.Uint16(data))
	a.Type = binary.NativeEndian.Uint16(data[2:]) & typeMask
	if length < header || length > len(data) {
		return a, nil, fmt.Errorf("%w: attribute %d of %d bytes in %d", ErrMessage, a.Type, length, len(data))
	}
	a.Value = data[header:length]
	return a, data[min(align(length), len(data)):], nil
}

func align(length int) int { return (length + alignment - 1) &^ (alignment - 1) }

// Uint8 is the value as a number of one byte.
func (a Attribute) Uint8() (uint8, error) {
	if len(a.Value) != 1 {
		return 0, a.wrongSize(1)
	}
	return a.Value[0], nil
}

// Uint16 is the value as a number of two bytes.
func (a Attribute) Uint16() (uint16, error) {
	if len(a.Value) != 2 {
		return 0, a.wrongSize(2)
	}
	return binary.BigEndian.Uint16(a.Value), nil
}

// Uint32 is the value as a number of four bytes.
func (a Attribute) Uint32() (uint32, error) {
	if len(a.Value) != 4 {
		return 0, a.wrongSize(4)
	}
	return binary.BigEndian.Uint32(a.Value), nil
}

// Uint64 is the value as a number of eight bytes.
func (a Attribute) Uint64() (uint64, error) {
	if len(a.Value) != 8 {
		return 0, a.wrongSize(8)
	}
	return binary.BigEndian.Uint64(a.Value), nil
}

// Text is the value as a text, without the zeros at its end.
func (a Attribute) Text() string {
	end := len(a.Value)
	for end > 0 && a.Value[end-1] == 0 {
		end--
	}
	return string(a.Value[:end])
}

func (a Attribute) wrongSize(want int) error {
	return fmt.Errorf("%w: attribute %d is a number of %d bytes and has %d", ErrMessage, a.Type, want, len(a.Value))
}

// Append appends an attribute.
func Append(dst []byte, typ uint16, value ...byte) []byte {
	dst = binary.NativeEndian.AppendUint16(dst, uint16(header+len(value)))
	dst = binary.NativeEndian.AppendUint16(dst, typ)
	dst = append(dst, value...)
	for range align(len(value)) - len(value) {
		dst = append(dst, 0)
	}
	return dst
}

// AppendUint16 appends an attribute of two bytes.
func AppendUint16(dst []byte, typ, value uint16) []byte {
	return Append(dst, typ, byte(value>>8), byte(value))
}

// AppendUint32 appends an attribute of four bytes.
func AppendUint32(dst []byte, typ uint16, value uint32) []byte {
	return Append(dst, typ, byte(value>>24), byte(value>>16), byte(value>>8), byte(value))
}

// AppendNested appends an attribute of what inside appends.
func AppendNested(dst []byte, typ uint16, inside func(dst []byte) []byte) []byte {
	start := len(dst)
	dst = inside(Append(dst, typ|nested))
	binary.NativeEndian.PutUint16(dst[start:], uint16(len(dst)-start))
	return dst
}
