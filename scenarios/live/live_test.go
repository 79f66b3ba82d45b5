package live

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// dumpNodes are the nodes of the recorded cluster.
var dumpNodes = []string{"demo-control-plane", "demo-worker", "demo-worker2"}

// recorded is the recorded cluster, with the rules of a variant of the tools.
func recorded(t testing.TB, tools string, nodes ...string) *Cluster {
	c := &Cluster{Config: &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16,fd00:10:244::/56"}}
	file, err := dumps.Kind().Open("objects.yaml")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	c.Objects, err = manifest.ReadObjects("objects.yaml", file)
	require.NoError(t, err)
	for _, node := range nodes {
		c.Snapshots = append(c.Snapshots, recordedNode(t, tools, node))
	}
	return c
}

func recordedNode(t testing.TB, tools, node string) *snapshot.Node {
	file, err := dumps.Kind().Open(tools + "/" + node + ".yaml")
	require.NoError(t, err)
	defer func(f fs.File) { require.NoError(t, f.Close()) }(file)
	taken, err := snapshot.Read(node+".yaml", file)
	require.NoError(t, err)
	return taken
}
