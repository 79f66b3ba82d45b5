package live

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// simulated is a generated cluster after its first sync, as it would be looked at from outside.
func simulated(t *testing.T, seed uint64) *Cluster {
	return simulatedOf(t, gen.Example(gen.Options{}, seed))
}

// simulatedOf is the cluster of a scenario, likewise.
func simulatedOf(t *testing.T, s *scenarios.Scenario) *Cluster {
	resolved, err := scenarios.ResolveWith(s, controller.New)
	require.NoError(t, err)
	resolved = resolved.With(netfilter.Legacy)
	world, err := sim.NewWorld(t.Context(), resolved, sim.Options{Direct: true})
	require.NoError(t, err)
	c := &Cluster{Objects: resolved.Objects, NodeConfigs: resolved.Configs, AllPackets: true}
	if !slices.ContainsFunc(s.Topology.Nodes, func(n scenarios.Node) bool { return !reflect.ValueOf(n.KubeProxy).IsZero() }) {
		c.Config, c.NodeConfigs = resolved.Configs[resolved.Nodes[0].Name], nil
	}
	for _, h := range world.Plan().Hosts {
		if h.Node == nil {
			continue
		}
		require.NoError(t, world.Sync(t.Context(), []string{h.Name}))
		host, err := packetsim.NewHost(packetsim.HostConfig{
			Name: h.Name, Devices: h.Devices, Routes: h.Routes,
			Sysctls: withLocalnet(h.Sysctls, world.Host(h.Name)), Netfilter: world.Kernel(h.Name).Namespace(),
		})
		require.NoError(t, err)
		taken, err := snapshot.Of(host)
		require.NoError(t, err)
		c.Snapshots = append(c.Snapshots, taken)
	}
	for i := range resolved.Pods {
		c.Objects = append(c.Objects, podObject(t, &resolved.Pods[i]))
	}
	return c
}

// withLocalnet are a node's settings with the one that its proxier makes, with the rule against what it lets in.
func withLocalnet(sysctls map[string]string, host *packetsim.Host) map[string]string {
	out := maps.Clone(sysctls)
	if len(rulesetOf(host.Rulesets(netfilter.IPv4)[0])["filter KUBE-FIREWALL"].texts) > 0 {
		out["net.ipv4.conf.all.route_localnet"] = "1"
	}
	return out
}

func podObject(t *testing.T, p *scenarios.Pod) manifest.Object {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: corev1.PodSpec{NodeName: p.Node}}
	for _, a := range p.Addresses {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: a.String()})
	}
	o, err := manifest.New(pod)
	require.NoError(t, err)
	return o
}

// dropsByPolicyOf says whether a chain of a node has the policy DROP.
func dropsByPolicyOf(c *Cluster) bool {
	return slices.ContainsFunc(c.Snapshots, func(taken *snapshot.NodeSnapshot) bool {
		return slices.ContainsFunc(taken.IPTables, func(r snapshot.Rules) bool { return strings.Contains(r.Save, " DROP [") })
	})
}

// Whatever a cluster is made of, the doctor finds nothing wrong with what a sound proxier wrote for it. Of a policy DROP, which some of
// them have, it says that and nothing else.
func TestNothingIsWrongWithGeneratedClusters(t *testing.T) {
	for seed := range uint64(60) {
		if !sample.Takes(t, int(seed), 8) {
			continue
		}
		c := simulated(t, seed)
		report, err := c.Examine(t.Context())
		require.NoError(t, err, "seed %d", seed)
		for i := range report.Findings {
			is := report.Findings[i].Code == cause.Policy && dropsByPolicyOf(c)
			assert.True(t, is, "seed %d: %s", seed, textOf(t, report))
		}
	}
}
