package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

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
	c, err := cluster.Start(ctx, cluster.Config{
		Name: o.existing, Existing: o.existing != "", Keep: o.keep, Image: o.image, Dialect: netfilter.Dialect(o.tool), Proxy: o.proxy,
		Binary: binary, Progress: s.errOut,
	})
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
