package cluster

import (
	"context"
	"errors"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kind "sigs.k8s.io/kind/pkg/cluster"
)

// Close deletes the cluster and the container outside, or what Start has added to an existing cluster, which keeps its proxy. With Keep
// all stays. The context bounds the cleaning up, so it should be one that outlives the work's.
func (c *Cluster) Close(ctx context.Context) error {
	failed := []error{c.dropHands()}
	if c.config.Keep {
		return failed[0]
	}
	if c.madeOutside {
		_, err := docker(ctx, "rm", "--force", "--volumes", c.outsideName())
		failed = append(failed, err)
	}
	switch {
	case c.made:
		failed = append(failed, c.delete(ctx))
	case c.config.Existing && c.client != nil:
		failed = append(failed, c.leave(ctx))
	}
	return errors.Join(failed...)
}

// delete deletes the nodes, and the network if it was not there before and nobody else is in it.
func (c *Cluster) delete(ctx context.Context) error {
	if err := c.provider.Delete(c.config.Name, os.DevNull); err != nil || !c.madeNetwork {
		return err
	}
	return removeNetwork(ctx)
}

// removeNetwork removes the network of kind's nodes, unless somebody is in it or it is not there.
func removeNetwork(ctx context.Context) error {
	_, err := docker(ctx, "network", "rm", network())
	for _, harmless := range []string{"active endpoints", "not found", "No such network"} {
		if err != nil && strings.Contains(err.Error(), harmless) {
			return nil
		}
	}
	return err
}

// Remove deletes a cluster that was kept: its nodes with their volumes, the container outside, and the network of kind's nodes if nobody
// else is in it. An empty name is that of Config. What is not there is no error.
func Remove(ctx context.Context, name string) error {
	c := newCluster(Config{Name: or(name, DefaultName)})
	c.provider = kind.NewProvider(kind.ProviderWithDocker())
	if _, err := docker(ctx, "rm", "--force", "--volumes", c.outsideName()); err != nil &&
		!strings.Contains(err.Error(), "No such container") {
		return err
	}
	if err := c.provider.Delete(c.config.Name, os.DevNull); err != nil {
		return err
	}
	return removeNetwork(ctx)
}

// leave takes the pool and the agents from an existing cluster.
func (c *Cluster) leave(ctx context.Context) error {
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	pool := metav1.ListOptions{LabelSelector: poolLabel}
	err := c.client.Pods(poolNamespace).DeleteCollection(ctx, now, pool)
	return errors.Join(err, c.inAll(ctx, func(Node) string {
		return "systemctl stop " + agentUnit + " 2>/dev/null || true\nrm -rf " + socketFolder + " " + programPath + "\n"
	}))
}
