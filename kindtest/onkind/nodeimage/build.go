package nodeimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say what a node image is built from and where.
type Options struct {
	Source string    // chainwalk's source tree
	Cache  string    // folder of what has been built
	Mirror string    // of Debian's packages
	Out    io.Writer // progress
}

// label of the image, with the key of everything that it is made of.
const label = "chainwalk.made-of"

// Build makes the image Tag in the Docker engine that DOCKER_HOST names, unless it is there and nothing has changed. An image that fails a
// check is not tagged.
func Build(ctx context.Context, o Options) (err error) {
	if _, err := docker(ctx, nil, "info", "--format", "{{.ID}}"); err != nil {
		return fmt.Errorf("%w\nno Docker engine answers; start one (`make kind-engine` does where none is set up)", err)
	}
	own, err := buildOwn(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
	k, err := imageKey(ctx, o, own)
	if err != nil {
		return err
	}
	if current(ctx) == k {
		fmt.Fprintf(o.Out, "%s is up to date\n", Tag)
		return nil
	}
	p, err := buildParts(ctx, o, own)
	if err != nil {
		return err
	}
	if err := assemble(ctx, o, p, k); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s is built\n", Tag)
	return nil
}

// imageKey is of everything that the image is made of: how it is put together, our own programs, and the keys of what takes long to make.
func imageKey(ctx context.Context, o Options, own string) (key, error) {
	binaries, err := binariesKey(ctx, o.Source)
	if err != nil {
		return "", err
	}
	parts := []string{string(binaries), debianTag(o.Mirror)}
	for _, folder := range []fs.FS{tree, os.DirFS(own), goFiles{os.DirFS(filepath.Join(o.Source, "kindtest", "onkind", "nodeimage"))}} {
		text, err := textOf(folder)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	return keyOf(parts...), nil
}

// current is the key of the image that Docker has; it is empty where there is none.
func current(ctx context.Context) key {
	text, err := docker(ctx, nil, "image", "inspect", "--format", `{{index .Config.Labels "`+label+`"}}`, Tag)
	if err != nil {
		return ""
	}
	return key(text)
}

// parts are what an image is assembled from.
type parts struct {
	debian   string // the image below
	binaries Binaries
	own      string // folder of our own programs
	images   []image
}

func buildParts(ctx context.Context, o Options, own string) (p parts, err error) {
	p.own = own
	if p.debian, err = importDebian(ctx, o); err != nil {
		return p, err
	}
	if p.binaries, err = BuildBinaries(ctx, o); err != nil {
		return p, err
	}
	list := command{argv: []string{p.binaries.Path("kubeadm"), "config", "images", "list", "--kubernetes-version", kubernetesVersion}}
	names, err := list.run(ctx)
	if err != nil {
		return p, err
	}
	p.images, err = controlPlane(strings.Fields(names), p.binaries, own)
	return p, err
}

// pauseImage is the name of the image that holds a pod's namespaces.
func pauseImage(images []image) (string, error) {
	for _, i := range images {
		if filepath.Base(i.program) == "pause" {
			return i.name, nil
		}
	}
	return "", errors.New("kubeadm asks for no image of pause")
}

// buildOwn builds chainwalk's own programs of a node into a temporary folder.
func buildOwn(ctx context.Context, o Options) (string, error) {
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp(o.Cache, ".own-")
	if err != nil {
		return "", err
	}
	argv := []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", folder + string(filepath.Separator),
		"./kindtest/onkind/nodeimage/entrypoint", "./kindtest/onkind/nodeimage/pause"}
	if _, err := (command{argv: argv, dir: o.Source, env: []string{"CGO_ENABLED=0", "GOFLAGS="}}).run(ctx); err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// controlPlane are the images that kubeadm lists, made of the programs of the same names. CoreDNS and kube-proxy are left out.
func controlPlane(listed []string, binaries Binaries, own string) ([]image, error) {
	var images []image
	for _, name := range listed {
		short := name[strings.LastIndex(name, "/")+1:]
		short, _, _ = strings.Cut(short, ":")
		switch short {
		case "coredns", "kube-proxy":
		case "pause":
			images = append(images, image{name: name, program: filepath.Join(own, short), entry: []string{"/" + binariesFolder + "/pause"}})
		case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler":
			images = append(images, image{name: name, program: binaries.Path(short)})
		default:
			return nil, fmt.Errorf("kubeadm asks for the image %s, and nothing here builds it", name)
		}
	}
	return images, nil
}

// assemble puts an image together in a container, checks it, and gives it its name.
func assemble(ctx context.Context, o Options, p parts, k key) (err error) {
	fmt.Fprintf(o.Out, "assembling %s\n", Tag)
	// systemd shuts down at this signal.
	id, err := docker(ctx, nil, "create", "--stop-signal", "SIGRTMIN+3", "--privileged", "--tmpfs", "/run", "--tmpfs", "/tmp",
		"--entrypoint", "/usr/bin/containerd", p.debian)
	if err != nil {
		return err
	}
	defer func() {
		_, removed := docker(context.WithoutCancel(ctx), nil, "rm", "--force", "--volumes", id)
		err = errors.Join(err, removed)
	}()
	if err := copyInto(ctx, id, p); err != nil {
		return err
	}
	if _, err := docker(ctx, nil, "start", id); err != nil {
		return err
	}
	if err := importImages(ctx, id, p.images); err != nil {
		return err
	}
	if err := check(ctx, id, p.images); err != nil {
		return err
	}
	if err := endContainerd(ctx, id); err != nil {
		return err
	}
	if _, err = docker(ctx, nil, "commit", "--change", `ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]`,
		"--change", "ENV container=docker", "--change", "LABEL "+label+"="+string(k), id, Tag); err != nil {
		return err
	}
	// Earlier ones have no name any more. What a cluster runs on stays.
	_, err = docker(ctx, nil, "image", "prune", "--force", "--filter", "label="+label)
	return err
}

// copyInto writes everything beyond Debian's packages into a container.
func copyInto(ctx context.Context, id string, p parts) error {
	programs := map[string]string{"usr/local/bin/entrypoint": filepath.Join(p.own, "entrypoint")}
	for _, name := range []string{"kubeadm", "kubectl", "kubelet"} {
		programs["usr/bin/"+name] = p.binaries.Path(name)
	}
	pause, err := pauseImage(p.images)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	if err := writeLayer(&layer, programs, pause); err != nil {
		return err
	}
	_, err = docker(ctx, &layer, "cp", "-", id+":/")
	return err
}

// importImages gives the container's containerd the control plane's images, as the kubelet will look for them.
func importImages(ctx context.Context, id string, images []image) error {
	var archive bytes.Buffer
	if err := writeArchive(&archive, images); err != nil {
		return err
	}
	if err := waitForContainerd(ctx, id); err != nil {
		return err
	}
	_, err := docker(ctx, &archive, "exec", "--interactive", id,
		"ctr", "--namespace", "k8s.io", "images", "import", "--no-unpack", "-")
	return err
}

// endContainerd ends the container's process in its own way, so that what it has stored is whole.
func endContainerd(ctx context.Context, id string) error {
	if _, err := docker(ctx, nil, "kill", "--signal", "TERM", id); err != nil {
		return err
	}
	_, err := docker(ctx, nil, "wait", id)
	return err
}

func waitForContainerd(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := docker(ctx, nil, "exec", id, "ctr", "version")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			said, _ := docker(context.WithoutCancel(ctx), nil, "logs", "--tail", "20", id)
			return fmt.Errorf("containerd does not start in a container of the image: %w\n%s", err, said)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
