package live

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// dumpNodes are the nodes of the recorded cluster.
var dumpNodes = []string{"demo-control-plane", "demo-worker", "demo-worker2"}

// recordedObjects are the objects of the recorded cluster, read once. Nobody changes them.
var recordedObjects = sync.OnceValues(func() ([]manifest.Object, error) {
	file, err := dumps.Kind().Open("objects.yaml")
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return manifest.ReadObjects("objects.yaml", file)
})

// recorded is the recorded cluster, with the rules of a variant of the tools.
func recorded(t testing.TB, tools string, nodes ...string) *Cluster {
	c := &Cluster{Config: &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16,fd00:10:244::/56"}, AllPackets: true}
	objects, err := recordedObjects()
	require.NoError(t, err)
	c.Objects = slices.Clone(objects)
	for _, node := range nodes {
		c.Snapshots = append(c.Snapshots, recordedNode(t, tools, node))
	}
	return c
}

// recordedNodes are the snapshots that were read, by file.
var recordedNodes sync.Map

// recordedNode is a snapshot whose lists and settings may be changed.
func recordedNode(t testing.TB, tools, node string) *snapshot.NodeSnapshot {
	name := tools + "/" + node + ".yaml"
	read, known := recordedNodes.Load(name)
	if !known {
		file, err := dumps.Kind().Open(name)
		require.NoError(t, err)
		defer func(f fs.File) { require.NoError(t, f.Close()) }(file)
		read, err = snapshot.Read(node+".yaml", file)
		require.NoError(t, err)
		recordedNodes.Store(name, read)
	}
	own := *read.(*snapshot.NodeSnapshot)
	own.Devices, own.Routes, own.IPTables = slices.Clone(own.Devices), slices.Clone(own.Routes), slices.Clone(own.IPTables)
	own.Conntrack, own.Sysctls = slices.Clone(own.Conntrack), maps.Clone(own.Sysctls)
	return &own
}
