package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"
	kind "sigs.k8s.io/kind/pkg/cluster"
)

// cleanupTime is how long cleaning up may take after what began it is no longer waited for.
const cleanupTime = time.Minute

// Start makes the cluster, or takes over the one that exists, and returns when the proxy has synced on every node and the pods are ready.
// What was begun is taken away again after an error, also that of a context that ends.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := newCluster(config)
	c.progress = &progress{out: config.Progress, clock: clock.RealClock{}}
	c.provider = kind.NewProvider(kind.ProviderWithDocker(), kind.ProviderWithLogger(c.progress))
	if err := c.start(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", config.Name, err), c.giveUp(ctx, cleanup))
	}
	return c, nil
}

// giveUp exports what there is, unless nobody waits for it any more, and takes it away.
func (c *Cluster) giveUp(ctx, cleanup context.Context) error {
	var exported error
	if c.config.Artifacts != "" && c.made && ctx.Err() == nil {
		exported = c.Export(cleanup, c.config.Artifacts)
	}
	c.config.Keep = false
	return errors.Join(exported, c.Close(cleanup))
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.pack(); err != nil {
		return err
	}
	if err := c.find(ctx); err != nil {
		return err
	}
	if !c.config.Existing {
		if err := c.create(ctx); err != nil {
			return err
		}
	} else if err := c.takeOver(ctx); err != nil {
		return err
	}
	return c.equip(ctx)
}

// Exists reports whether there is a cluster of a name.
func Exists(name string) (bool, error) {
	names, err := kind.NewProvider(kind.ProviderWithDocker()).List()
	return slices.Contains(names, name), err
}

// find looks whether the cluster is there, which it must be exactly if an existing one is wanted.
func (c *Cluster) find(ctx context.Context) error {
	if _, err := docker(ctx, "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("no Docker engine answers, start one or set DOCKER_HOST: %w", err)
	}
	names, err := c.provider.List()
	if err != nil {
		return err
	}
	switch there := slices.Contains(names, c.config.Name); {
	case c.config.Existing && !there:
		return fmt.Errorf("there is no such cluster: `kind get clusters` lists %s", or(strings.Join(names, ", "), "none"))
	case !c.config.Existing && there:
		return fmt.Errorf("it exists already: use it with CLUSTER=%[1]s, or delete it with `make kind-remove CLUSTER=%[1]s`", c.config.Name)
	}
	return nil
}

// create makes the cluster.
func (c *Cluster) create(ctx context.Context) error {
	if err := c.progress.step("nodes made", func() error { return c.provision(ctx) }); err != nil {
		return err
	}
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() error {
		return c.progress.step("control plane started", func() error {
			return c.kubeadm(grouped, c.hosts[:1], "init", "--config=/kind/kubeadm.conf", "--skip-token-print")
		})
	})
	group.Go(func() error {
		return c.progress.step("images loaded", func() error { return c.load(grouped) })
	})
	if err := group.Wait(); err != nil {
		return err
	}
	err := c.progress.step("workers joined", func() error {
		return c.kubeadm(ctx, c.hosts[1:], "join", "--config=/kind/kubeadm.conf")
	})
	if err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	return c.progress.step("nodes ready", func() error {
		if err := c.inAll(ctx, func(node Node) string { return networkScript(node, c.nodes) }); err != nil {
			return err
		}
		return c.waitForNodes(ctx)
	})
}

// takeOver uses the cluster that is there.
func (c *Cluster) takeOver(ctx context.Context) error {
	if err := c.listHosts(); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	return c.progress.step("images loaded", func() error { return c.load(ctx) })
}

// equip puts the proxy, the pods, the agents and the container outside into the cluster.
func (c *Cluster) equip(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for what, do := range map[string]func(context.Context) error{
		"proxy synced":      c.startProxy,
		"pods ready":        c.startPods,
		"agents on nodes":   c.startAgents,
		"container outside": c.startOutside,
	} {
		group.Go(func() error { return c.progress.step(what, func() error { return do(ctx) }) })
	}
	return group.Wait()
}
