package live

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
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

// smallServices are the services of a small cluster: of each of these kinds there are more in the recorded one.
var smallServices = []string{"kubernetes", "web", "itp-local", "lb-local", "np-local", "sticky"}

// small is the recorded cluster with few of its services. Its nodes have the rules that kube-proxy leaves there when the others are gone.
// What is not about another service, or about many of them, is found in it in a part of the time. Of its nodes a packet of each class is
// walked; a test whose rules stop replies asks for all packets.
func small(t testing.TB, tools string, nodes ...string) *Cluster {
	c := recorded(t, tools, nodes...)
	c.AllPackets = false
	c.Objects = slices.DeleteFunc(c.Objects, func(o manifest.Object) bool {
		name := o.Meta().GetName()
		if slice, is := o.Object.(*discoveryv1.EndpointSlice); is {
			name = slice.Labels[discoveryv1.LabelServiceName]
		} else if _, is := o.Object.(*corev1.Service); !is {
			return false
		}
		return !slices.Contains(smallServices, name)
	})
	for i, taken := range c.Snapshots {
		c.Snapshots[i] = nodeOnce(t, "small "+tools+" "+taken.Hostname, func() (*snapshot.NodeSnapshot, error) {
			return newMigration(c, Target{}).foretold(taken, manifest.InMode(c.Config, manifest.ModeIPTables))
		})
	}
	return c
}

// recordedNode is the snapshot of a recorded node.
func recordedNode(t testing.TB, tools, node string) *snapshot.NodeSnapshot {
	name := tools + "/" + node + ".yaml"
	return nodeOnce(t, name, func() (*snapshot.NodeSnapshot, error) {
		file, err := dumps.Kind().Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // only read
		return snapshot.Read(node+".yaml", file)
	})
}

// madeNodes are the snapshots that were made, by name.
var madeNodes sync.Map

// nodeOnce is a snapshot that is made once. Its lists and settings may be changed.
func nodeOnce(t testing.TB, name string, node func() (*snapshot.NodeSnapshot, error)) *snapshot.NodeSnapshot {
	made, known := madeNodes.Load(name)
	if !known {
		var err error
		made, err = node()
		require.NoError(t, err)
		madeNodes.Store(name, made)
	}
	own := *made.(*snapshot.NodeSnapshot)
	own.Devices, own.Routes, own.IPTables = slices.Clone(own.Devices), slices.Clone(own.Routes), slices.Clone(own.IPTables)
	own.Conntrack, own.Sysctls = slices.Clone(own.Conntrack), maps.Clone(own.Sysctls)
	return &own
}

// unwalked is a migration that has found what each node changes from and to.
func unwalked(t *testing.T, c *Cluster, to Target) *migration {
	m := newMigration(c, to)
	var err error
	m.before, err = c.exam()
	require.NoError(t, err)
	require.NoError(t, m.choose())
	return m
}

// ofVersions is what is known of a change of versions, of which no packet tells.
func ofVersions(t *testing.T, c *Cluster, to Target) *Migration {
	m := unwalked(t, c, to)
	m.versions()
	return m.out
}
