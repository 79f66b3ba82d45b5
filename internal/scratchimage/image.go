package scratchimage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is one FROM scratch with one static program at its root, as kindtest/onkind/cluster/Dockerfile makes it.
type Image struct {
	// Reference names it: localhost/PROGRAM, with a tag that is made of what is in it.
	Reference name.Tag
	Content   v1.Image
}

// New packs a static binary for Linux, of any architecture; an error says why an image without a library cannot run it. The tag is made of
// what is in it, so that no node takes another one for it.
func New(program string, binary []byte) (*Image, error) {
	architecture, err := architectureOf(binary)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(binary)
	reference, err := name.NewTag(fmt.Sprintf("localhost/%s:%x", program, digest[:8]))
	if err != nil {
		return nil, err
	}
	layer, err := layerOf(program, binary)
	if err != nil {
		return nil, err
	}
	content, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: architecture,
		Config: v1.Config{Entrypoint: []string{path.Join("/", program)}},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	content, err = mutate.AppendLayers(content, layer)
	return &Image{Reference: reference, Content: content}, err
}

// String is what a pod's specification calls the image.
func (i *Image) String() string { return i.Reference.String() }

// Archive writes the image as `docker save` does.
func (i *Image) Archive(w io.Writer) error { return tarball.Write(i.Reference, i.Content, w) }

// layerOf is a file system that holds a program. It is not compressed: it goes no farther than to a container of this machine.
func layerOf(program string, binary []byte) (v1.Layer, error) {
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	if err := files.WriteHeader(&tar.Header{Name: program, Mode: 0o755, Size: int64(len(binary)), Typeflag: tar.TypeReg}); err != nil {
		return nil, err
	}
	if _, err := files.Write(binary); err != nil {
		return nil, err
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	return static.NewLayer(layer.Bytes(), types.DockerUncompressedLayer), nil
}

// architectures are Docker's names for those of programs.
var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_S390: "s390x", elf.EM_PPC64: "ppc64le",
	elf.EM_RISCV: "riscv64"}

// architectureOf refuses what an image without any library cannot run.
func architectureOf(binary []byte) (string, error) {
	program, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return "", fmt.Errorf("not a program for Linux (build it with GOOS=linux): %w", err)
	}
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP {
			return "", errors.New("the program is linked with libraries of its machine: build it with CGO_ENABLED=0")
		}
	}
	architecture, known := architectures[program.Machine]
	if !known {
		return "", fmt.Errorf("no node has the program's architecture %s", program.Machine)
	}
	return architecture, nil
}

// Read packs the binary of a file.
func Read(program, file string) (*Image, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	packed, err := New(program, binary)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return packed, nil
}
