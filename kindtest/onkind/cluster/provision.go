package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/chainwalk/chainwalk/kindtest/onkind/nodeimage"
)

// provision makes the nodes' containers, and prepares them for Kubernetes. kind stops before it starts Kubernetes, since the variant of
// iptables must be chosen before a kubelet writes rules, and since its commands know no context that may end.
func (c *Cluster) provision(ctx context.Context) error {
	if err := c.noteNetwork(ctx); err != nil {
		return err
	}
	c.chooseImage(ctx)
	config, err := json.Marshal(kindConfig(c.config))
	if err != nil {
		return err
	}
	c.made = true
	var failed error
	made := make(chan struct{})
	go func() {
		defer close(made)
		failed = c.config.Provision(config, c.progress)
	}()
	select {
	case <-made:
		if failed != nil {
			return explain(failed)
		}
	case <-ctx.Done():
		// Without its containers kind comes to an end. Close deletes what it has made since.
		_ = c.provider.Delete(c.config.Name, os.DevNull)
		<-made
		return context.Cause(ctx)
	}
	if err := c.listHosts(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, host := range c.hosts {
		group.Go(func() error {
			if _, err := in(ctx, host.String(), toolScript, string(c.config.Dialect)); err != nil {
				return fmt.Errorf("choosing the iptables of %s: %w", host, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// chooseImage finds an image if none is wanted in particular. kind asks a registry for one that is not here.
func (c *Cluster) chooseImage(ctx context.Context) {
	if c.config.Image != "" {
		return
	}
	for _, image := range []string{kindConfig(c.config).Nodes[0].Image, nodeimage.Tag} {
		if _, err := docker(ctx, "image", "inspect", "--format", "{{.Id}}", image); err == nil {
			c.config.Image = image
			break
		}
	}
}

// explain adds to kind's error what a user can do, where that is known.
func explain(err error) error {
	if text := err.Error(); strings.Contains(text, "docker pull") || strings.Contains(text, "pull access") ||
		strings.Contains(text, "registry") {
		return fmt.Errorf("the node image cannot be had: build one with `make kind-node-image`, or name one that is here with NODE_IMAGE=: %w",
			err)
	}
	return err
}

// listHosts finds the nodes' containers, the control plane first.
func (c *Cluster) listHosts() error {
	all, err := c.provider.ListInternalNodes(c.config.Name)
	if err != nil {
		return err
	}
	byRole := map[string][]nodes.Node{}
	for _, host := range all {
		role, err := host.Role()
		if err != nil {
			return err
		}
		byRole[role] = append(byRole[role], host)
	}
	c.hosts = append(sorted(byRole["control-plane"]), sorted(byRole["worker"])...)
	return nil
}

// kubeadm runs kubeadm on hosts at once.
func (c *Cluster) kubeadm(ctx context.Context, hosts []nodes.Node, args ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, host := range hosts {
		group.Go(func() error {
			_, err := run(host.CommandContext(ctx, "kubeadm", args...), nil)
			return err
		})
	}
	return group.Wait()
}

// load gives every node chainwalk itself, and the images.
func (c *Cluster) load(ctx context.Context) error {
	if err := c.findProxy(ctx, c.hosts[0].String()); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, host := range c.hosts {
		group.Go(func() error {
			if err := copyProgram(ctx, host.String(), c.config.Binary); err != nil {
				return err
			}
			for _, image := range c.images() {
				if err := loadImage(ctx, host, image); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
