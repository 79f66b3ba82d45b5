package nodeimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
)

// image is a container image with one program in it.
type image struct {
	name    string   // registry.k8s.io/pause:3.10
	program string   // the path of the program on this machine; it is /usr/local/bin/NAME in the image
	entry   []string // entrypoint; none if a pod's manifest says it
}

// binaries is where an image has its program.
const binariesFolder = "usr/local/bin"

// writeArchive writes images as `docker save` does, for `docker load` and `ctr images import`. The same programs give the same bytes.
func writeArchive(out io.Writer, images []image) error {
	archive := tar.NewWriter(out)
	var manifest []archived
	for _, i := range images {
		entry, err := i.write(archive)
		if err != nil {
			return fmt.Errorf("image %s: %w", i.name, err)
		}
		manifest = append(manifest, entry)
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := writeFile(archive, "manifest.json", 0o644, text); err != nil {
		return err
	}
	return archive.Close()
}

// archived is an image in the manifest of an archive.
type archived struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// configuration is an image's: what runc needs and the hash of its layer.
type configuration struct {
	Architecture string           `json:"architecture"`
	OS           string           `json:"os"`
	Config       processConfig    `json:"config"`
	RootFS       rootFS           `json:"rootfs"`
	History      []map[string]any `json:"history"`
}

type processConfig struct {
	Env        []string `json:"Env"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

func (i image) write(archive *tar.Writer) (archived, error) {
	layer, diffID, err := i.layer()
	if err != nil {
		return archived{}, err
	}
	config, err := json.Marshal(configuration{
		Architecture: runtime.GOARCH, OS: "linux",
		Config:  processConfig{Env: []string{"PATH=/" + binariesFolder}, Entrypoint: i.entry},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{diffID}},
		History: []map[string]any{{"created_by": "chainwalk"}},
	})
	if err != nil {
		return archived{}, err
	}
	entry := archived{Config: digest(config) + ".json", RepoTags: []string{i.name}, Layers: []string{digest(layer) + ".tar.gz"}}
	if err := writeFile(archive, entry.Config, 0o644, config); err != nil {
		return archived{}, err
	}
	return entry, writeFile(archive, entry.Layers[0], 0o644, layer)
}

// layer is the compressed layer of an image and the hash of what it is uncompressed.
func (i image) layer() (compressed []byte, diffID string, err error) {
	program, err := os.ReadFile(i.program)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.New()
	layer := tar.NewWriter(io.MultiWriter(zip, hash))
	for _, folder := range []string{"tmp", "usr", "usr/local", binariesFolder} {
		mode := int64(0o755)
		if folder == "tmp" {
			mode = 0o1777
		}
		if err := layer.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: mode}); err != nil {
			return nil, "", err
		}
	}
	if err := writeFile(layer, path.Join(binariesFolder, path.Base(i.program)), 0o755, program); err != nil {
		return nil, "", err
	}
	for _, c := range []io.Closer{layer, zip} {
		if err := c.Close(); err != nil {
			return nil, "", err
		}
	}
	return out.Bytes(), "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// writeFile adds a file of root's to an archive. It has no time, so that the same content gives the same bytes.
func writeFile(archive *tar.Writer, name string, mode int64, content []byte) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// sameNames reports whether both hold the same names, in whatever order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
