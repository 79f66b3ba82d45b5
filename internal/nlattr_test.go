package internal_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

// read are all attributes, with copies of their values.
func read(t require.TestingT, data []byte) (all []nlattr.Attribute) {
	for a, err := range nlattr.All(data) {
		require.NoError(t, err)
		all = append(all, a)
	}
	return all
}

func TestAppendedIsRead(t *testing.T) {
	message := nlattr.Append(nil, 1, 5)
	message = nlattr.AppendUint16(message, 2, 0x1234)
	message = nlattr.AppendNested(message, 3, func(dst []byte) []byte { return nlattr.AppendUint32(dst, 4, 0x12345678) })
	message = nlattr.Append(message, 5, []byte("name\x00")...)
	require.Zero(t, len(message)%4)
	all := read(t, message)
	require.Len(t, all, 4)
	one, err := all[0].Uint8()
	require.NoError(t, err)
	assert.Equal(t, uint8(5), one)
	two, err := all[1].Uint16()
	require.NoError(t, err)
	assert.Equal(t, uint16(0x1234), two)
	assert.Equal(t, uint16(3), all[2].Type, "without the flag for nesting")
	four, err := read(t, all[2].Value)[0].Uint32()
	require.NoError(t, err)
	assert.Equal(t, uint32(0x12345678), four)
	assert.Equal(t, "name", all[3].Text())
}

// The last attribute needs no padding.
func TestAllReadsAnAttributeWithoutPadding(t *testing.T) {
	all := read(t, nlattr.Append(nil, 1, 5)[:5])
	require.Len(t, all, 1)
	assert.Equal(t, []byte{5}, all[0].Value)
}

func TestAllRefuses(t *testing.T) {
	for name, broken := range map[string][]byte{
		"a length of zero":         {0, 0, 1, 0},
		"more than there is":       binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, 9), 1),
		"less than a header":       {4, 0, 1},
		"bytes after an attribute": append(nlattr.Append(nil, 1, 5), 0, 0),
	} {
		var last error
		for _, err := range nlattr.All(broken) {
			require.NoError(t, last, "nothing comes after an error")
			last = err
		}
		assert.ErrorIs(t, last, nlattr.ErrMessage, name)
	}
}

func TestNumbersHaveTheirSize(t *testing.T) {
	a := nlattr.Attribute{Type: 7, Value: []byte{1, 2, 3}}
	_, err8 := a.Uint8()
	_, err16 := a.Uint16()
	_, err32 := a.Uint32()
	_, err64 := a.Uint64()
	for _, err := range []error{err8, err16, err32, err64} {
		require.ErrorIs(t, err, nlattr.ErrMessage)
	}
	assert.EqualError(t, err16, "unknown netlink message: attribute 7 is a number of 2 bytes and has 3")
	eight, err := nlattr.Attribute{Value: []byte{0, 0, 0, 0, 0, 0, 1, 2}}.Uint64()
	require.NoError(t, err)
	assert.Equal(t, uint64(0x102), eight)
}

// FuzzNetlinkAttributes: what is read and appended again is read as the same.
func FuzzNetlinkAttributes(f *testing.F) {
	f.Add(nlattr.AppendUint16(nlattr.Append(nil, 1, 5), 2, 7))
	f.Fuzz(func(t *testing.T, data []byte) {
		var attributes []nlattr.Attribute
		var again []byte
		for a, err := range nlattr.All(data) {
			if err != nil {
				return
			}
			attributes = append(attributes, a)
			again = nlattr.Append(again, a.Type, a.Value...)
		}
		require.Equal(t, attributes, read(t, again))
	})
}
