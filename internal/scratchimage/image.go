package scratchimage

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// Image is one FROM scratch with one static program at its root, as kindtest/onkind/cluster/Dockerfile makes it.
type Image struct {
	// Reference names it: localhost/PROGRAM, with a tag that is made of what is in it.
	Reference string

	layer, config []byte // a file system as tar, and what the image says of itself as JSON
}

// New packs a static binary for Linux, of any architecture; an error says why an image without a library cannot run it. The tag is made of
// what is in it, so that no node takes another one for it.
func New(program string, binary []byte) (*Image, error) {
	architecture, err := architectureOf(binary)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	if err := archive(&layer, []file{{program, 0o755, binary}}); err != nil {
		return nil, err
	}
	var c config
	c.Architecture, c.OS = architecture, "linux"
	c.Config.Entrypoint = []string{path.Join("/", program)}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{"sha256:" + digest(layer.Bytes())}
	described, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return &Image{Reference: fmt.Sprintf("localhost/%s:%.16s", program, digest(binary)), layer: layer.Bytes(), config: described}, nil
}

// config is what an image says of itself, as far as one from scratch does (opencontainers/image-spec, config.md).
type config struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		Entrypoint []string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// manifest says which files of an archive are an image (moby, image/tarexport).
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// String is what a pod's specification calls the image.
func (i *Image) String() string { return i.Reference }

// Archive writes the image as `docker save` does. The layer is not compressed: it goes no farther than to a container of this machine.
func (i *Image) Archive(w io.Writer) error {
	m := manifest{Config: digest(i.config) + ".json", RepoTags: []string{i.Reference}, Layers: []string{digest(i.layer) + ".tar"}}
	listed, err := json.Marshal([]manifest{m})
	if err != nil {
		return err
	}
	return archive(w, []file{{m.Config, 0o644, i.config}, {m.Layers[0], 0o644, i.layer}, {"manifest.json", 0o644, listed}})
}

func digest(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

type file struct {
	name    string
	mode    int64
	content []byte
}

// archive packs files as tar.
func archive(to io.Writer, files []file) error {
	packed := tar.NewWriter(to)
	for _, f := range files {
		if err := packed.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := packed.Write(f.content); err != nil {
			return err
		}
	}
	return packed.Close()
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
