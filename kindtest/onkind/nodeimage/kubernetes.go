package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Binaries is a folder of the programs of the nested module, built static for this machine: etcd, kube-apiserver,
// kube-controller-manager, kube-proxy, kube-scheduler, kubeadm, kubectl and kubelet.
type Binaries struct{ folder string }

// Folder is where they are.
func (b Binaries) Folder() string { return b.folder }

// Path is where the program of that name is.
func (b Binaries) Path(name string) string { return filepath.Join(b.folder, name) }

// renamed are the programs that go build names after their package.
var renamed = map[string]string{"server": "etcd"}

// ErrNotBuilt says that nobody has built the programs from these sources.
var ErrNotBuilt = errors.New("no binaries of Kubernetes " + kubernetesVersion + "; build them with `make kind-binaries`")

// BuiltBinaries returns the programs of an earlier build from the same sources. Its error is ErrNotBuilt if there was none.
func BuiltBinaries(ctx context.Context, source, cache string) (Binaries, error) {
	k, err := binariesKey(ctx, source)
	if err != nil {
		return Binaries{}, err
	}
	folder := folderOf(cache, binariesName, k)
	if _, err := os.Stat(folder); err != nil {
		return Binaries{}, fmt.Errorf("%w: %w", ErrNotBuilt, err)
	}
	return Binaries{folder}, nil
}

// BuildBinaries builds the programs of the nested module, unless the cache has them.
func BuildBinaries(ctx context.Context, o Options) (Binaries, error) {
	k, err := binariesKey(ctx, o.Source)
	if err != nil {
		return Binaries{}, err
	}
	folder, err := keep(o.Cache, binariesName, k, func(folder string) error {
		fmt.Fprintf(o.Out, "building Kubernetes %s and etcd; the first time this takes several minutes\n", kubernetesVersion)
		return compile(ctx, Module(o.Source), folder)
	})
	return Binaries{folder}, err
}

const binariesName = "kubernetes"

// Module is the folder of the nested module that says of which modules Kubernetes is built, in chainwalk's source tree.
func Module(source string) string {
	return filepath.Join(source, "kindtest", "onkind", "nodeimage", "kubernetes")
}

// binariesKey is of what the programs are built from. Modules do not change once go.sum has them.
func binariesKey(ctx context.Context, source string) (key, error) {
	text, err := textOf(os.DirFS(Module(source)))
	if err != nil {
		return "", fmt.Errorf("%w; give the folder of chainwalk's source tree", err)
	}
	toolchain, err := command{argv: []string{"go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64"}, dir: Module(source)}.run(ctx)
	return keyOf(text, toolchain, strings.Join(buildFlags(), "\n")), err
}

// buildFlags make binaries small, the same wherever they are built, and sure of their version.
func buildFlags() []string {
	numbers := strings.Split(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	linker := []string{"-s", "-w"}
	for _, at := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, stamp := range []string{
			"gitVersion=" + kubernetesVersion, "gitMajor=" + numbers[0], "gitMinor=" + numbers[1], "gitTreeState=clean",
		} {
			linker = append(linker, "-X "+at+"."+stamp)
		}
	}
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", strings.Join(linker, " ")}
}

// compile builds every tool of the module into a folder.
func compile(ctx context.Context, module, folder string) error {
	argv := append([]string{"go", "build"}, buildFlags()...)
	argv = append(argv, "-o", folder+string(filepath.Separator), "tool")
	if _, err := (command{argv: argv, dir: module, env: []string{"CGO_ENABLED=0", "GOFLAGS="}}).run(ctx); err != nil {
		return err
	}
	for from, to := range renamed {
		if err := os.Rename(filepath.Join(folder, from), filepath.Join(folder, to)); err != nil {
			return err
		}
	}
	return nil
}
