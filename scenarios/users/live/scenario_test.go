package live

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// written is a scenario as a file, read back.
func written(t *testing.T, s *scenarios.Scenario) (string, *scenarios.Scenario) {
	var b bytes.Buffer
	require.NoError(t, scenarios.Write(&b, s))
	text := b.String()
	read, err := scenarios.Read("written.yaml", &b)
	require.NoError(t, err)
	return text, read
}

// holds runs a scenario in the simulator.
func holds(t *testing.T, s *scenarios.Scenario) {
	result := scenarios.Run(t.Context(), s, sim.Backend{})
	require.NotEmpty(t, result.Checks)
	for _, c := range result.Checks {
		assert.True(t, c.Passed, "%s, %s: expected %s, got %s: %s", c.Name, c.Packet, c.Expected, c.Got, c.Wrong)
	}
}

func TestTheRecordedClusterIsAScenario(t *testing.T) {
	s, notes, err := recorded(t, "nft", dumpNodes...).Scenario(ScenarioOptions{Name: "recorded"})
	require.NoError(t, err)
	assert.Empty(t, notes)
	text, read := written(t, s)
	assert.Equal(t, []netfilter.Dialect{netfilter.NFT}, read.IPTables.Dialects)
	assert.Greater(t, strings.Count(text, "expect:"), 1000)
	for _, noise := range []string{"resourceVersion", "managedFields", "ownerReferences", "last-change-trigger-time", "selector", "uid:"} {
		assert.NotContains(t, text, noise)
	}
	holds(t, read)
}

func TestAnAnonymisedScenarioSaysTheSame(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	known, _, err := cluster.Scenario(ScenarioOptions{Name: "recorded"})
	require.NoError(t, err)
	s, _, err := cluster.Scenario(ScenarioOptions{Name: "anonymous", Anonymise: true})
	require.NoError(t, err)
	text, read := written(t, s)
	told := map[string]bool{}
	for _, word := range strings.FieldsFunc(text, isBetweenNames) {
		told[word], told[strings.TrimRight(word, ".:")] = true, true
		if to, err := netip.ParseAddrPort(word); err == nil {
			told[to.Addr().String()] = true
		}
	}
	for _, secret := range secrets(cluster) {
		words := strings.FieldsFunc(secret, isBetweenNames)
		assert.False(t, told[words[0]], "%s in %s", words[0], secret)
	}
	for _, word := range wordsOfTheFormat {
		assert.NotContains(t, text, "name: "+word+",")
	}
	assert.Equal(t, shapes(known), shapes(read))
	holds(t, read)

	again, _, err := cluster.Scenario(ScenarioOptions{Name: "anonymous", Anonymise: true})
	require.NoError(t, err)
	same, _ := written(t, again)
	assert.Equal(t, text, same)
}

// isBetweenNames says whether a character is in no name and in no address.
func isBetweenNames(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".:-", r)
}

// wordsOfTheFormat are names in the recorded cluster that every scenario may have as words.
var wordsOfTheFormat = []string{"dual", "tcp", "udp", "sctp"}

// secrets are the names and addresses of a cluster.
func secrets(c *Cluster) []string {
	var out []string
	for _, o := range c.Objects {
		out = append(out, o.Meta().GetName())
		if namespace := o.Meta().GetNamespace(); namespace != metav1.NamespaceDefault && namespace != metav1.NamespaceSystem {
			out = append(out, namespace)
		}
		switch o := o.Object.(type) {
		case *corev1.Service:
			out = append(append(append(out, o.Spec.ClusterIPs...), o.Spec.ExternalIPs...), o.Spec.LoadBalancerSourceRanges...)
			for _, p := range o.Spec.Ports {
				out = append(out, p.Name)
			}
			for _, ingress := range o.Status.LoadBalancer.Ingress {
				out = append(out, ingress.IP)
			}
		case *discoveryv1.EndpointSlice:
			for _, e := range o.Endpoints {
				out = append(out, e.Addresses...)
			}
		case *corev1.Node:
			out = append(append(out, o.Spec.PodCIDRs...), o.Labels[corev1.LabelTopologyZone])
			for _, a := range o.Status.Addresses {
				out = append(out, a.Address)
			}
		case *corev1.Pod:
			for _, ip := range o.Status.PodIPs {
				out = append(out, ip.IP)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(word string) bool {
		return word == "" || word == corev1.ClusterIPNone || slices.Contains(wordsOfTheFormat, word)
	})
}

// shapes are what is expected in a scenario without names and addresses.
func shapes(s *scenarios.Scenario) []string {
	var out []string
	for _, step := range s.Steps {
		for _, c := range step.Cases {
			source := c.Expect.Source
			out = append(out, fmt.Sprintf("%s %d: %d endpoints, answered %t, refused %t, untouched %t, "+
				"reject %t, drop %t, kept %t, masqueraded %t, one way %t",
				c.To.Proto, c.To.Port(), len(c.Expect.Endpoints), c.Expect.AnsweredBy != "", c.Expect.RefusedBy != "", c.Expect.Untouched,
				c.Expect.Reject.Wanted, c.Expect.Drop.Wanted, source.Kept, source.Masqueraded, c.Expect.OneWay))
		}
	}
	slices.Sort(out)
	return out
}

// withPlugin is the small cluster with rules of a network plugin on demo-worker: a chain, and a rule for one pod's device.
func withPlugin(t *testing.T, drop string) *Cluster {
	cluster := small(t, "legacy", dumpNodes...)
	worker := cluster.Snapshots[1]
	edit(t, worker, netfilter.IPv4, "*nat\n", "*nat\n:PLUGIN-MASQ - [0:0]\n")
	edit(t, worker, netfilter.IPv4, "-A POSTROUTING ", `-A POSTROUTING -s 10.244.2.0/24 -m comment --comment "pods of shop" -j PLUGIN-MASQ`+
		"\n-A PLUGIN-MASQ -d 10.244.0.0/16 -j RETURN\n-A PLUGIN-MASQ -m set --match-set shops dst -j RETURN\n[0:0] -A POSTROUTING ")
	edit(t, worker, netfilter.IPv4, "-A FORWARD ", drop+"\n[0:0] -A FORWARD ")
	worker.IPSets = "create shops hash:ip\n"
	return cluster
}

func TestRulesOfOthersAreThereBefore(t *testing.T) {
	cluster := withPlugin(t, "-A FORWARD -i vethb246c797 -d 198.51.100.250/32 -j DROP")
	s, notes, err := cluster.Scenario(ScenarioOptions{Name: "with a plugin"})
	require.NoError(t, err)
	assert.Equal(t, []string{"demo-worker: a scenario cannot have -A PLUGIN-MASQ -m set --match-set shops dst -j RETURN"}, notes)
	text, read := written(t, s)
	assert.Contains(t, text, ":PLUGIN-MASQ - [0:0]")
	assert.Contains(t, text, "-A PLUGIN-MASQ -d 10.244.0.0/16 -j RETURN")
	assert.Regexp(t, `-A FORWARD -d 198\.51\.100\.250/32 -i veth\d+ -j DROP`, text)
	assert.Contains(t, text, ":KUBE-KUBELET-CANARY - [0:0]")
	for _, kubeProxys := range []string{"KUBE-SERVICES", "KUBE-SEP-", "KUBE-POSTROUTING"} {
		assert.NotContains(t, text, kubeProxys)
	}
	holds(t, read)

	s, _, err = cluster.Scenario(ScenarioOptions{Name: "anonymous", Anonymise: true})
	require.NoError(t, err)
	text, read = written(t, s)
	for _, secret := range []string{"PLUGIN", "shop", "10.244.2.0/24", "10.244.0.0/16", "198.51.100.250", "vethb246c797", "demo-worker"} {
		assert.NotContains(t, text, secret)
	}
	assert.Regexp(t, `-A CHAIN1 -d \S+/16 -j RETURN`, text)
	holds(t, read)
}

func TestAScenarioFailsAsTheNodesDo(t *testing.T) {
	s, _, err := withPlugin(t, "-A FORWARD -d 10.244.2.2/32 -p tcp -m tcp --dport 8080 -j DROP").Scenario(ScenarioOptions{Name: "dropped"})
	require.NoError(t, err)
	_, read := written(t, s)
	failed := 0
	for _, c := range scenarios.Run(t.Context(), read, sim.Backend{}).Checks {
		if !c.Passed {
			failed++
		}
	}
	assert.Positive(t, failed)
}

func TestKubeProxysConfigMapCounts(t *testing.T) {
	cluster := recorded(t, "legacy")
	cluster.Config = nil
	_, notes, err := cluster.Scenario(ScenarioOptions{})
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], "no kube-proxy configuration is known")

	object, err := manifest.New(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"},
		Data: map[string]string{"config.conf": "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n" +
			"clusterCIDR: 10.244.0.0/16\niptables: {masqueradeAll: true, syncPeriod: 30s}\nclientConnection: {kubeconfig: /var/lib/x}\n"},
	})
	require.NoError(t, err)
	cluster.Objects = append(cluster.Objects, object)
	s, notes, err := cluster.Scenario(ScenarioOptions{Name: "with a ConfigMap"})
	require.NoError(t, err)
	assert.Empty(t, notes)
	text, _ := written(t, s)
	assert.Contains(t, text, "kubeProxy: {clusterCIDR: 10.244.0.0/16, iptables: {masqueradeAll: true}}")
}

func TestANodeHasAConfigurationOfItsOwn(t *testing.T) {
	cluster := small(t, "legacy")
	own := cluster.Config.DeepCopy()
	own.IPTables.MasqueradeAll = true
	cluster.NodeConfigs = map[string]*kubeproxyconfig.KubeProxyConfiguration{"demo-worker": own}
	s, _, err := cluster.Scenario(ScenarioOptions{Name: "one of three", Anonymise: true})
	require.NoError(t, err)
	text, read := written(t, s)
	assert.Equal(t, 1, strings.Count(text, "masqueradeAll: true"))
	resolved, err := scenarios.Resolve(read)
	require.NoError(t, err)
	for i, want := range []bool{false, true, false} {
		name := read.Topology.Nodes[i].Name
		assert.Equal(t, want, resolved.Configs[name].IPTables.MasqueradeAll, name)
		assert.Equal(t, resolved.Configs[read.Topology.Nodes[0].Name].ClusterCIDR, resolved.Configs[name].ClusterCIDR, name)
	}
	holds(t, read)

	cluster.NodeConfigs["somebody"] = own
	_, _, err = cluster.Scenario(ScenarioOptions{Name: "x"})
	require.ErrorContains(t, err, `a configuration is of "somebody", and no Node has that name`)
}

func TestLocalTrafficIsKnownByTheSimulatedDevices(t *testing.T) {
	cluster := small(t, "legacy")
	cluster.Config = &kubeproxyconfig.KubeProxyConfiguration{
		BindAddress: "172.18.0.3", DetectLocalMode: "BridgeInterface",
		DetectLocal: kubeproxyconfig.DetectLocalConfiguration{BridgeInterface: "cni0"},
	}
	s, _, err := cluster.Scenario(ScenarioOptions{Name: "by devices"})
	require.NoError(t, err)
	text, read := written(t, s)
	assert.Contains(t, text, `kubeProxy: {clusterCIDR: "", detectLocal: {interfaceNamePrefix: veth}, detectLocalMode: InterfaceNamePrefix}`)
	holds(t, read)
}

func TestSnapshotsAddWhatObjectsDoNotSay(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	worker := cluster.Snapshots[1]
	worker.Devices = append(worker.Devices, snapshot.Device{Name: "eth1", Index: 99, Up: true, Addresses: []snapshot.Address{
		{Prefix: netip.MustParsePrefix("172.31.0.3/24")}}})
	worker.Sysctls["net.netfilter.nf_conntrack_tcp_be_liberal"] = "1"
	s, _, err := cluster.Scenario(ScenarioOptions{Name: "x"})
	require.NoError(t, err)
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("172.31.0.3")}, s.Topology.Nodes[1].ExtraAddresses)
	assert.Equal(t, map[string]string{"net.netfilter.nf_conntrack_tcp_be_liberal": "1"}, s.Topology.Nodes[1].Sysctls)
	assert.Empty(t, s.Topology.Nodes[0].ExtraAddresses)

	worker.Hostname = "somebody"
	_, _, err = cluster.Scenario(ScenarioOptions{Name: "x"})
	require.ErrorContains(t, err, `a snapshot is of "somebody", and no Node has that name`)
	cluster.Snapshots = append(cluster.Snapshots[:1], cluster.Snapshots[0])
	_, _, err = cluster.Scenario(ScenarioOptions{Name: "x"})
	require.ErrorContains(t, err, "two snapshots are of demo-control-plane")
	_, _, err = (&Cluster{}).Scenario(ScenarioOptions{Name: "x"})
	require.ErrorIs(t, err, errNoNodes)
}
