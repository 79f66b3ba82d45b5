package document

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
)

// ErrArchive says that an input is a tar archive.
var ErrArchive = errors.New("a tar archive: unpack it, and give a file or folder of it")

// Byte order marks, by which programs of Windows say how a text is written.
const (
	mark8  = "\xef\xbb\xbf"
	mark16 = "\xff\xfe"
	mark61 = "\xfe\xff" // the other byte first
)

// Plain is a text as people hand it on, in UTF-8: unpacked if gzip packed it, and without a byte order mark, which says of a text of PowerShell
// that it is in UTF-16.
func Plain(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if begins(b, "\x1f\x8b") {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpack it: %w", err)
		}
		b = bufio.NewReader(unpacked)
	}
	const magic, at = "ustar", 257
	if head, _ := b.Peek(at + len(magic)); bytes.HasSuffix(head, []byte(magic)) && len(head) > at {
		return nil, ErrArchive
	}
	switch {
	case begins(b, mark8):
		_, err := b.Discard(len(mark8))
		return b, err
	case begins(b, mark16):
		return fromUTF16(b, binary.LittleEndian)
	case begins(b, mark61):
		return fromUTF16(b, binary.BigEndian)
	}
	return b, nil
}

// begins looks at the first bytes; where they cannot be read, reading on says why.
func begins(b *bufio.Reader, with string) bool {
	head, _ := b.Peek(len(with))
	return string(head) == with
}

func fromUTF16(r io.Reader, order binary.ByteOrder) (io.Reader, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(data)%2 != 0 {
		return nil, errors.New("not text: UTF-16 with half a character at its end")
	}
	units := make([]uint16, 0, len(data)/2)
	for i := len(mark16); i < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return bytes.NewReader([]byte(string(utf16.Decode(units)))), nil
}
