package ruleset

import (
	"encoding/binary"
	"errors"
	"slices"
)

func appendSized(dst []byte, text string) []byte {
	dst, end := beginSized(dst, len(text))
	return end(append(dst, text...))
}

// beginSized makes room for a text that is appended behind its length, which end notes.
func beginSized(dst []byte, room int) (begun []byte, end func([]byte) []byte) {
	begin := len(dst) + sizeOfSize
	dst = slices.Grow(dst, sizeOfSize+room)[:begin]
	return dst, func(dst []byte) []byte {
		binary.BigEndian.PutUint64(dst[begin-sizeOfSize:], uint64(len(dst)-begin))
		return dst
	}
}

// cutSized takes such a text from the beginning.
func cutSized(text []byte) (cut, rest []byte, err error) {
	if len(text) < sizeOfSize {
		return nil, nil, errTableEnds
	}
	size, rest := binary.BigEndian.Uint64(text), text[sizeOfSize:]
	if size > uint64(len(rest)) {
		return nil, nil, errTableEnds
	}
	return rest[:size:size], rest[size:], nil
}

// sizeOfSize is that of the length before a text.
const sizeOfSize = 8

var errTableEnds = errors.New("a table ends too early")
