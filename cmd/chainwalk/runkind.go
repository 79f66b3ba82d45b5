package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kind/pkg/log"

	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/onkind/kind"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// kindOptions say which cluster the backend kind runs on.
type kindOptions struct {
	existing string
	keep     bool
	image    string
	tool     string
	proxy    cluster.Proxy
}

func (o *kindOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.existing, "cluster", os.Getenv("CLUSTER"), "with --on kind: use the kind cluster of this name, and keep it (CLUSTER)")
	flags.BoolVar(&o.keep, "keep", os.Getenv("KEEP") != "", "with --on kind: keep the new cluster, for --cluster chainwalk (KEEP=1)")
	flags.StringVar(&o.image, "node-image", os.Getenv("NODE_IMAGE"),
		"with --on kind: the image of the nodes; kind's own if not given (NODE_IMAGE)")
	flags.StringVar(&o.tool, "tool", string(netfilter.NFT), "with --on kind: the nodes' variant of iptables, nft or legacy")
	flags.StringVar(&o.proxy.Name, "proxy", cluster.Chainwalk, "with --on kind: the service proxy, chainwalk or kube-proxy")
}

// closingTime is how long a cluster may take to go.
const closingTime = 2 * time.Minute

// startKind makes a cluster, or takes over one, and returns the backend that runs on it. Closing takes away what was made.
func (o *kindOptions) startKind(ctx context.Context, s streams) (backend scenarios.Backend, closeAll func() error, err error) {
	var b *kind.Backend
	binary, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("--on kind: find this program, which goes into the cluster: %w", err)
	}
	config := cluster.Config{
		Name: o.existing, Existing: o.existing != "", Keep: o.keep, Image: o.image, Dialect: netfilter.Dialect(o.tool), Proxy: o.proxy,
		Binary: binary, Progress: s.errOut,
	}
	if !config.Existing {
		companion, err := findCompanion(binary)
		if err != nil {
			return nil, nil, err
		}
		config.Provision = func(config []byte, logger log.Logger) error {
			return provision(context.WithoutCancel(ctx), companion, config, logger)
		}
	}
	c, err := cluster.Start(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	closeAll = func() error {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
		defer cancel()
		var err error
		if b != nil {
			err = b.Close(ending)
		}
		return errors.Join(err, c.Close(ending))
	}
	if b, err = kind.New(ctx, c, kind.Options{}); err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	return b, closeAll, nil
}

// companionName is the program that makes the nodes of kind clusters (cmd/chainwalk-kind).
const companionName = "chainwalk-kind"

// findCompanion finds that program in the folder of this one, or on PATH.
func findCompanion(self string) (path string, err error) {
	if linked, err := filepath.EvalSymlinks(self); err == nil {
		self = linked
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), companionName)); err == nil {
		return path, nil
	}
	if path, err = exec.LookPath(companionName); err != nil {
		return "", fmt.Errorf("--on kind: the program %[1]s makes clusters, and is neither beside chainwalk nor on PATH: take it from the "+
			"archive of the release, or run go install github.com/chainwalk/chainwalk/cmd/%[1]s@latest; --cluster NAME uses a cluster that exists",
			companionName)
	}
	return path, nil
}

// provision has the companion make the nodes of a cluster. It ends early if somebody deletes their containers.
func provision(ctx context.Context, companion string, config []byte, logger log.Logger) error {
	cmd := exec.CommandContext(ctx, companion)
	var reason, warnings bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(config), &reason, &warnings
	err := cmd.Run()
	for line := range strings.Lines(warnings.String()) {
		logger.Warn(line)
	}
	if err != nil && reason.Len() > 0 {
		return errors.New(strings.TrimSpace(reason.String()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", companion, err)
	}
	return nil
}
