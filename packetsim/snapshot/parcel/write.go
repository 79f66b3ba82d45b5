package parcel

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
)

const (
	// mark begins each line of a parcel. The number is the version of the form.
	mark = "chainwalk-parcel/1"
	// lineBytes is how much of the packed document a line has: with base64 less than half of the 16 KiB at which container runtimes cut lines.
	lineBytes = 6000
	// maxUnpacked is the largest document, in bytes, that is packed and that a reader unpacks.
	maxUnpacked = 1 << 30
)

// Pack packs a document under an id, which is one word, and returns the lines to print. The same document gives the same bytes.
func Pack(id string, document []byte) ([]byte, error) {
	if len(document) > maxUnpacked {
		return nil, fmt.Errorf("the document has %d bytes: a parcel holds %d at most", len(document), maxUnpacked)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(document); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	lines := (packed.Len() + lineBytes - 1) / lineBytes
	fmt.Fprintf(&out, "%s %s begin %d %d %x\n", mark, id, lines, len(document), sha256.Sum256(document))
	for n := 1; packed.Len() > 0; n++ {
		fmt.Fprintf(&out, "%s %s %d %s\n", mark, id, n, base64.StdEncoding.EncodeToString(packed.Next(lineBytes)))
	}
	fmt.Fprintf(&out, "%s %s end\n", mark, id)
	return out.Bytes(), nil
}

// unpack is the document of a packed one that is said to have so many bytes.
func unpack(packed io.Reader, size int) ([]byte, error) {
	z, err := gzip.NewReader(bufio.NewReader(packed))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(z, int64(size)+1))
	if err == nil && len(document) != size {
		err = fmt.Errorf("it has not the %d bytes that its first line says", size)
	}
	return document, err
}
