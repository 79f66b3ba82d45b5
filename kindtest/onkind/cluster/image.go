package cluster

import (
	"archive/tar"
	"bytes"
	"context"
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

// image is one FROM scratch with one static program at its root, as the Dockerfile beside makes it. It is packed here and not by Docker,
// which would keep it.
type image struct {
	reference name.Tag
	content   v1.Image
}

// newImage packs a static binary. The image's tag is made of what is in it, so that no node takes another one for it.
func newImage(program string, binary []byte) (*image, error) {
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
	return &image{reference: reference, content: content}, err
}

// String is what a pod's specification calls the image.
func (i *image) String() string { return i.reference.String() }

// archive writes the image as `docker save` does.
func (i *image) archive(w io.Writer) error { return tarball.Write(i.reference, i.content, w) }

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

// readImage packs the binary of a file.
func readImage(program, file string) (*image, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	packed, err := newImage(program, binary)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return packed, nil
}

// pack makes the images, apart from one whose program only the nodes have.
func (c *Cluster) pack() error {
	var err error
	if c.agentImage, err = readImage(Chainwalk, c.config.Binary); err != nil {
		return err
	}
	if c.config.Proxy.Binary != "" {
		c.nodeProxies.image, err = readImage(c.config.Proxy.Name, c.config.Proxy.Binary)
	}
	return err
}

// nodesProxy is a shell script that prints the kube-proxy of a node image: a program of the node, or that in the image of kubeadm's
// DaemonSet.
const nodesProxy = `set -eu
for file in /usr/bin/kube-proxy /usr/local/bin/kube-proxy /kind/bin/kube-proxy; do
	if [ -x "$file" ]; then exec cat "$file"; fi
done
image=$(ctr --namespace=k8s.io images list --quiet | grep -m 1 '/kube-proxy') || { echo 'there is no kube-proxy in the node image' >&2; exit 1; }
place=$(mktemp -d)
ctr --namespace=k8s.io images mount "$image" "$place" >/dev/null
cat "$place/usr/local/bin/kube-proxy"
ctr --namespace=k8s.io images unmount --rm "$place" >/dev/null
`

// findProxy packs the proxy that the node image has, as a host of it does, unless the proxy is known.
func (p *nodeProxies) findProxy(ctx context.Context, host string) error {
	if p.image != nil || p.foreign != nil {
		return nil
	}
	binary, err := in(ctx, host, nodesProxy)
	if err != nil {
		return fmt.Errorf("give the path of a kube-proxy: %w", err)
	}
	p.image, err = newImage(p.config.Proxy.Name, []byte(binary))
	return err
}

// images are those that the nodes need.
func (c *Cluster) images() []*image {
	if c.nodeProxies.image == nil || c.nodeProxies.image.reference == c.agentImage.reference {
		return []*image{c.agentImage}
	}
	return []*image{c.agentImage, c.nodeProxies.image}
}
