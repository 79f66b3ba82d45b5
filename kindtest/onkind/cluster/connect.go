package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/chainwalk/chainwalk/kindtest/onkind/apiclient"
)

// How often something is looked at that is waited for, and how long.
const (
	pollInterval = 50 * time.Millisecond
	patience     = 2 * time.Minute
)

// connect makes the client, and reads what the nodes have got.
func (c *Cluster) connect(ctx context.Context) error {
	text, err := c.provider.KubeConfig(c.config.Name, false)
	if err != nil {
		return err
	}
	if c.rest, err = clientcmd.RESTConfigFromKubeConfig([]byte(text)); err != nil {
		return err
	}
	c.rest.QPS = -1 // no limit: the API server is here for this alone
	if c.client, err = apiclient.New(c.rest); err != nil {
		return err
	}
	if err := c.readNodes(ctx); err != nil {
		return err
	}
	c.foreign, err = foreignConfiguration(ctx, c.client)
	return err
}

// readNodes waits until each node has its podCIDRs, which the controllers give it.
func (c *Cluster) readNodes(ctx context.Context) error {
	return until(ctx, func(ctx context.Context) (pending string, err error) {
		list, err := c.client.Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Sprintf("the API server does not answer: %v", err), nil
		}
		if len(list.Items) < len(c.hosts) {
			return fmt.Sprintf("%d of %d nodes are there", len(list.Items), len(c.hosts)), nil
		}
		c.nodes = nil
		for _, host := range c.hosts {
			i := slices.IndexFunc(list.Items, func(n corev1.Node) bool { return n.Name == host.String() })
			if i < 0 {
				return "there is no node " + host.String(), nil
			}
			node, err := nodeOf(&list.Items[i])
			if err != nil {
				return "", err
			}
			if len(node.PodCIDRs) == 0 {
				return "no podCIDR of node " + node.Name, nil
			}
			c.nodes = append(c.nodes, node)
		}
		return "", nil
	})
}

// nodeOf reads a Node. Addresses come in the order of podCIDRs, which is that of the cluster's families.
func nodeOf(n *corev1.Node) (Node, error) {
	node := Node{Name: n.Name, Zone: n.Labels[zoneLabel]}
	for _, text := range n.Spec.PodCIDRs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return Node{}, fmt.Errorf("podCIDR of node %s: %w", n.Name, err)
		}
		node.PodCIDRs = append(node.PodCIDRs, prefix)
	}
	for _, address := range n.Status.Addresses {
		if address.Type != corev1.NodeInternalIP {
			continue
		}
		a, err := netip.ParseAddr(address.Address)
		if err != nil {
			return Node{}, fmt.Errorf("address of node %s: %w", n.Name, err)
		}
		node.Addresses = append(node.Addresses, a)
	}
	return node, nil
}

// waitForNodes waits until all nodes are ready.
func (c *Cluster) waitForNodes(ctx context.Context) error {
	return until(ctx, func(ctx context.Context) (pending string, err error) {
		list, err := c.client.Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		for _, node := range list.Items {
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
					return fmt.Sprintf("node %s is not ready: %s", node.Name, condition.Message), nil
				}
			}
		}
		return "", nil
	})
}

// until waits until nothing is pending. What still is when its patience or the context ends becomes the error.
func until(ctx context.Context, look func(context.Context) (pending string, err error)) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		pending, err := look(ctx)
		if err == nil {
			last = pending
		}
		return err == nil && pending == "", err
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case wait.Interrupted(err):
		return fmt.Errorf("after %v: %s", patience, last)
	default:
		return err
	}
}

// sorted puts hosts in the order of their names.
func sorted[T fmt.Stringer](hosts []T) []T {
	slices.SortFunc(hosts, func(a, b T) int { return cmp.Compare(a.String(), b.String()) })
	return hosts
}
