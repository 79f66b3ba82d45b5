// Package nftcalls has the calls of nft that kube-proxy made, for the tests of fakenft; README.md of package dumps says where they come
// from. It is a package of its own, since it needs a library to unpack them, which users of the other packages need not download.
package nftcalls

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
)

//go:embed nftables-v1.36.tar.zst
var recorded []byte

// Files are what kube-proxy v1.36.3 did in its nftables mode: a folder for each stage, NN-NAME, with calls/NNNN.argv, .stdin, .stdout,
// .stderr and .status of each run of nft, and the ruleset after the stage.
func Files() (fs.FS, error) {
	unpacked, err := zstd.NewReader(bytes.NewReader(recorded))
	if err != nil {
		return nil, fmt.Errorf("the recorded calls of nft: %w", err)
	}
	defer unpacked.Close()
	files := fstest.MapFS{}
	for archive := tar.NewReader(unpacked); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the recorded calls of nft: %w", err)
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return nil, fmt.Errorf("the recorded calls of nft: %s: %w", head.Name, err)
		}
		files[head.Name] = &fstest.MapFile{Data: text, Mode: 0o444}
	}
}
