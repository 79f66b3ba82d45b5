package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/chainwalk/chainwalk/internal/checkout"
	"github.com/chainwalk/chainwalk/internal/overlay"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
)

// binaries builds what the nodes run: the harness's part, and the proxy. The latter is the same unless it has a fault, or is another one.
func (o *options) binaries(ctx context.Context) (own, proxy string, err error) {
	root, err := overlay.Root()
	if err != nil {
		return "", "", err
	}
	folder, err := filepath.Abs(o.folder)
	if err != nil {
		return "", "", err
	}
	if own = o.binary; own == "" {
		own = filepath.Join(folder, "chainwalk")
		if err := cluster.BuildProgram(ctx, root, "chainwalk", own); err != nil {
			return "", "", err
		}
	}
	switch {
	case o.fault != "":
		proxy = filepath.Join(folder, "chainwalk-"+o.fault)
		return own, proxy, buildFaulty(ctx, root, proxy, o.fault)
	case o.proxy == cluster.KubeProxy:
		proxy, err := o.kubeProxy(ctx, root)
		return own, proxy, err
	}
	return own, own, nil
}

// kubeProxy is the kube-proxy that was built here; empty, for the node image's own, where none was or another image is asked for.
func (o *options) kubeProxy(ctx context.Context, root string) (string, error) {
	if o.kubernetes != "" {
		return o.buildKubeProxy(ctx, root)
	}
	if o.image != "" && o.image != nodeimage.Tag {
		return "", nil
	}
	cache, err := nodeimage.Cache()
	if err != nil {
		return "", err
	}
	built, err := nodeimage.BuiltBinaries(ctx, root, cache)
	switch {
	case err == nil:
		return built.Path("kube-proxy"), nil
	case o.image == "" && errors.Is(err, fs.ErrNotExist):
		return "", nil
	}
	return "", err
}

// buildKubeProxy builds the kube-proxy of a checkout of kubernetes, with the modules of the node image where the checkout asks for no
// newer ones.
func (o *options) buildKubeProxy(ctx context.Context, root string) (string, error) {
	from, err := checkout.Open(ctx, o.kubernetes)
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs(o.folder)
	if err != nil {
		return "", err
	}
	module, modfile := nodeimage.Module(root), filepath.Join(folder, "kubernetes.mod")
	if err := from.WriteModFile(ctx, filepath.Join(module, "go.mod"), modfile); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "kube-proxy")
	build := exec.CommandContext(ctx, "go", "build", "-modfile="+modfile, "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", path,
		"k8s.io/kubernetes/cmd/kube-proxy")
	build.Dir = module
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the kube-proxy of %s: %w\n%s", from.Dir, err, output)
	}
	return path, nil
}
