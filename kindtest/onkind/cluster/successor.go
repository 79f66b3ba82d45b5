package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writerLabel says on the proxy's DaemonSet which proxy it is, and in which mode.
const writerLabel = "chainwalk.dev/proxy"

// writer is the value of the label.
func (p Proxy) writer() string { return p.Name + "-" + p.Mode }

// removePredecessor takes away a proxy that an earlier run has left, if it is another one, and the rules that it wrote: a proxy does not
// know what others leave behind.
func (p *nodeProxies) removePredecessor(ctx context.Context) error {
	sets := p.client.DaemonSets(proxyNamespace)
	set, err := sets.Get(ctx, proxyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || set.Labels[writerLabel] == p.config.Proxy.writer() {
		return err
	}
	if err := sets.Delete(ctx, proxyName, metav1.DeleteOptions{}); err != nil {
		return err
	}
	err = until(ctx, func(ctx context.Context) (string, error) {
		list, err := p.client.Pods(proxyNamespace).List(ctx, metav1.ListOptions{LabelSelector: p.proxySelector()})
		if err != nil || len(list.Items) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d pods of the earlier proxy are there", len(list.Items)), nil
	})
	if err != nil {
		return err
	}
	return p.inAll(ctx, func(Node) string { return cleanupScript })
}

// cleanupScript removes the rules of a proxy, whichever it was, in its modes iptables and nftables.
const cleanupScript = programPath + ` proxy --cleanup`
