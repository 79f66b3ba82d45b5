package cluster

import (
	"context"
	"errors"
	"io"

	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"
)

var errPending = errors.New("cluster: not there yet")

// Start makes the cluster, or takes over the one that exists, and returns when the proxy has synced on every node and the pods are ready. What
// was begun is taken away again after an error, also that of a context that ends.
func Start(ctx context.Context, c Config) (*Cluster, error) { return nil, errPending }

// Relay starts the relay in a node or in the container outside, and returns its standard input and output. Closing ends it.
func (c *Cluster) Relay(ctx context.Context, host string) (io.ReadWriteCloser, error) {
	return nil, errPending
}

// Configure gives each node that byNode names its configuration, and returns when the proxy has synced with it there. A proxy whose
// configuration stays the same is not restarted. What belongs to the cluster is set in any case: how the API server is reached, the mode, the limit of
// tracked connections, and the addresses of the metrics and the health check, the port of which stays if it is given.
func (c *Cluster) Configure(ctx context.Context, byNode map[string]*kubeproxy.KubeProxyConfiguration) error {
	return errPending
}

// RestartProxy ends the proxy of the nodes, and returns when it has synced again there.
func (c *Cluster) RestartProxy(ctx context.Context, nodes []string) error { return errPending }

// ReplaceProxy deletes the proxy's pods of the nodes, and returns when others have synced there. It takes longer than RestartProxy.
func (c *Cluster) ReplaceProxy(ctx context.Context, nodes []string) error { return errPending }

// Metrics are those of a node's proxy, in Prometheus' text format.
func (c *Cluster) Metrics(ctx context.Context, node string) ([]byte, error) { return nil, errPending }

// Export writes to a folder, for each node: kind's logs, a snapshot, the proxy's log and metrics; and the objects of the cluster.
// It goes on after an error.
func (c *Cluster) Export(ctx context.Context, folder string) error { return errPending }

// Close deletes the cluster and the container outside, or what Start has added to an existing cluster. With Keep it only closes what is open. The context
// should be one that outlives the work's, since it bounds the cleaning up.
func (c *Cluster) Close(ctx context.Context) error { return errPending }
