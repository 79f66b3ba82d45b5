package live

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// TestMigrateOfShippedCases changes the clusters of all shipped cases to mode nftables. Where the cases hold in both modes, which a run
// says of every packet, there is no finding: each class of packets is the same, or otherwise by a clause that a document tells of, or that
// leaves open what becomes of it. But for one: a pod that comes back to itself by another node.
func TestMigrateOfShippedCases(t *testing.T) {
	all, err := scenarios.Load("../../testdata/cases")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, c := range oracle.Clauses() { // a mode does otherwise, or it is open what becomes of a packet
		told[c.Name] = c.Mode == oracle.NFTables && c.Sentence != (oracle.Sentence{}) || c.Force == oracle.Unspecified
	}
	for _, s := range all {
		resolved, err := scenarios.ResolveWith(s, controller.New)
		require.NoError(t, err)
		if oracle.ModeOf(resolved.Configs[resolved.Nodes[0].Name]) != oracle.IPTables {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			both := scenarios.RunIn(t.Context(), s, sim.Backend{Options: sim.Options{Direct: true}}, scenarios.ModeIPTables, scenarios.ModeNFTables)
			c := withKernels(t, simulatedOf(t, s))
			c.Dialect = netfilter.Legacy
			m, err := c.Migrate(t.Context(), Target{Mode: manifest.ModeNFTables})
			require.NoError(t, err)
			var text bytes.Buffer
			require.NoError(t, m.WriteText(&text, true))
			assert.False(t, both.Failed())
			for i := range m.Findings {
				f := &m.Findings[i]
				switch {
				case f.Clause == "hairpin-of-another-node": // no document tells of it
				case f.Document == "kubernetes#109811", f.Cause.Code == cause.ForeignNAT: // the case is about that
				default:
					assert.Fail(t, "a false finding", f.Says)
				}
			}
			for i := range m.Documented {
				assert.True(t, told[m.Documented[i].Clause], "%s", m.Documented[i].Clause)
			}
			if t.Failed() {
				t.Log(text.String())
			}
		})
	}
}

// withKernels has the nodes say that their Linux is a recent one.
func withKernels(t *testing.T, c *Cluster) *Cluster {
	for _, n := range c.nodes() {
		c = withOther(t, c, n.Name, func(node *corev1.Node) { node.Status.NodeInfo.KernelVersion = "6.1.0" })
	}
	return c
}

// TestMigrateNamesEachDifference has a cluster for each difference between the modes that the recorded one does not meet: it is named
// there.
func TestMigrateNamesEachDifference(t *testing.T) {
	base, err := asRecorded()
	require.NoError(t, err)
	for clause, row := range map[string]struct {
		change func(c *Cluster)
		packet string
	}{
		"unassigned-cluster-ip-dropped": {func(c *Cluster) {
			c.Objects = append(c.Objects, read(t, "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: kubernetes}\n"+
				"spec: {cidrs: [10.96.0.0/16]}\n")...)
		}, "10.96.255.254:80"},
		"invalid-packet-passes": {func(c *Cluster) {
			c.Snapshots[0].Sysctls["net.netfilter.nf_conntrack_tcp_be_liberal"] = "0"
		}, "an answer that conntrack rejects"},
	} {
		t.Run(clause, func(t *testing.T) {
			c := recorded(t, "legacy", migratedNode)
			row.change(c)
			d := migrated(t, c, Target{}).documented(clause)
			require.NotNil(t, d)
			assert.Contains(t, d.Example.Packet, row.packet)
			assert.NotEqual(t, d.Example.Before, d.Example.After)
			assert.NotEmpty(t, d.Sentence)
			assert.NotEmpty(t, d.Set)
			if clause == "unassigned-cluster-ip-dropped" {
				assert.Nil(t, base.documented(clause), "the recorded cluster does not have it")
			}
		})
	}
	t.Run("conntrack is liberal in both modes", func(t *testing.T) {
		c := recorded(t, "legacy", migratedNode)
		c.Config = &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: c.Config.ClusterCIDR}
		c.Config.Conntrack.TCPBeLiberal = true
		c.Snapshots[0].Sysctls["net.netfilter.nf_conntrack_tcp_be_liberal"] = "1"
		m := migrated(t, c, Target{})
		assert.Nil(t, m.documented("invalid-packet-passes"))
	})
}

func read(t *testing.T, text string) []manifest.Object {
	objects, err := manifest.ReadObjects("objects.yaml", bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	return objects
}
