package document

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// ErrArchive says that an input is a tar archive.
var ErrArchive = errors.New("a tar archive: unpack it, and give a file or folder of it")

// Plain is a text as people hand it on, in UTF-8: unpacked if gzip packed it, and without a byte order mark, which says of a text of
// PowerShell that it is in UTF-16. What is no character there is U+FFFD.
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
	return transform.NewReader(b, unicode.BOMOverride(transform.Nop)), nil
}

// begins looks at the first bytes; where they cannot be read, reading on says why.
func begins(b *bufio.Reader, with string) bool {
	head, _ := b.Peek(len(with))
	return string(head) == with
}
