package live

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
	"github.com/chainwalk/chainwalk/scenarios/world/controller"
)

// TestMigrateOfShippedCases changes the clusters of all shipped cases to mode nftables. The cases hold in both modes, as the tests of
// package sim find (TestCases, TestCasesInModeNFTables), so there is no finding: each class of packets is the same, or otherwise by a
// clause that a document tells of, or that leaves open what becomes of it. But for one: a pod that comes back to itself by another node.
func TestMigrateOfShippedCases(t *testing.T) {
	all, err := scenarios.Load("../../testdata/cases")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, c := range oracle.Clauses() { // a mode does otherwise, or it is open what becomes of a packet
		told[c.Name] = c.Mode == oracle.NFTables && c.Sentence != (oracle.Sentence{}) || c.Force == oracle.Unspecified
	}
	for i, s := range sample.Some(t, all, 8) {
		resolved, err := scenarios.ResolveWith(s, controller.New)
		require.NoError(t, err)
		if oracle.ModeOf(resolved.Configs[resolved.Nodes[0].Name]) != oracle.IPTables {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			c := withKernels(t, simulatedOf(t, s))
			c.Dialect = netfilter.Legacy
			m, err := c.Migrate(t.Context(), Target{Mode: manifest.ModeNFTables, AllPackets: i%*everyCase == 0})
			require.NoError(t, err)
			for k := range m.AllPackets {
				if a := &m.AllPackets[k]; len(m.Findings) == 0 {
					assert.Empty(t, a.Findings, "no clause covers it")
					assert.Empty(t, a.Unknown)
				}
			}
			var text bytes.Buffer
			require.NoError(t, m.WriteText(&text, true))
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

// everyCase is of how many cases that are taken one has all packets judged too. At 1 it takes minutes.
var everyCase = flag.Int("every-case", 8, "judge all packets in one of so many shipped cases that are taken")

// TestClassesAgreeWithAllPackets: where a class of packets fares alike, its packet does on each node that it comes to, of all packets;
// where it is a finding, some packets of a node are treated differently by no clause, or by the same one.
func TestClassesAgreeWithAllPackets(t *testing.T) {
	clusters := map[string]*Cluster{"recorded": recorded(t, "legacy", migratedNode), "firewall": small(t, "legacy", migratedNode)}
	edit(t, clusters["firewall"].Snapshots[0], netfilter.IPv4, ":FORWARD ACCEPT", ":FORWARD DROP")
	for _, seed := range sample.Some(t, []uint64{0, 1, 2, 3}, 4) {
		clusters[fmt.Sprint("generated ", seed)] = simulated(t, seed)
	}
	for name, c := range clusters {
		t.Run(name, func(t *testing.T) {
			m := walkedMigration(t, c, nil)
			w := sameOnNodes{migration: m, fates: map[fatesKey]*forall.Fates{}}
			alike := 0
			for i := range m.errands {
				was, tried := m.was[i]
				if p := &m.errands[i]; tried && p.act == actConnect && p.live == nil {
					_, ways, err := m.try(m.after, m.after.lab, *p)
					require.NoError(t, err)
					if was.fates.same(distributionOf(ways)) {
						alike++
						assert.Empty(t, w.differs(t, p), p.String())
					}
				}
			}
			assert.Positive(t, alike)
			for i := range m.out.Findings {
				clause := m.out.Findings[i].Clause
				assert.True(t, m.out.Findings[i].Ways == 0 || slices.ContainsFunc(m.out.AllPackets, func(a explained.Answer) bool {
					return len(a.Findings) > 0 || a.WrongBefore > 0 ||
						slices.ContainsFunc(a.Covered, func(c explained.Covered) bool { return c.Clause == clause })
				}), m.out.Findings[i].Says)
			}
		})
	}
}

// walkedMigration is a migration whose packets were walked, all of them, through nodes after the change that a test may have spoilt.
func walkedMigration(t *testing.T, c *Cluster, spoil func(taken *snapshot.NodeSnapshot)) *migration {
	m := walkedClasses(t, c, spoil)
	require.NoError(t, m.allPackets(t.Context()))
	return m
}

// walkedClasses is a migration, likewise, of which a packet of each class was walked.
func walkedClasses(t *testing.T, c *Cluster, spoil func(taken *snapshot.NodeSnapshot)) *migration {
	m := newMigration(c, Target{AllPackets: true})
	var err error
	m.before, err = c.exam()
	require.NoError(t, err)
	require.NoError(t, m.choose())
	m.after, err = m.examAfter()
	require.NoError(t, err)
	if spoil != nil {
		hosts := map[string]*packetsim.Host{}
		for name := range m.configs {
			taken, err := snapshot.Of(m.after.lab.Network.Host(name).Host)
			require.NoError(t, err)
			spoil(taken)
			hosts[name], err = snapshot.NewHost(taken, snapshot.HostOptions{})
			require.NoError(t, err)
		}
		m.after.lab, err = newLab(m.after.topology, m.after.nodes, hosts)
		require.NoError(t, err)
	}
	require.NoError(t, m.compare(t.Context()))
	require.NoError(t, m.walkMoments(t.Context()))
	return m
}

// sameOnNodes asks all packets what becomes of one on each node.
type sameOnNodes struct {
	*migration
	fates map[fatesKey]*forall.Fates
}

type fatesKey struct {
	host   *packetsim.Host
	family netfilter.Family
}

// differs are the packets of an errand that are treated differently on a node that they come to.
func (w *sameOnNodes) differs(t *testing.T, p *errand) (out []string) {
	told, err := w.before.lab.tell(w.before.spec, *p)
	require.NoError(t, err)
	for i := range told {
		for _, hop := range told[i].journeys[0].Hops {
			if w.configs[hop.Host] == nil {
				continue
			}
			var at [2]string
			for side, e := range []*exam{w.before, w.after} {
				key := fatesKey{e.lab.Network.Host(hop.Host).Host, inet.FamilyOf(hop.Input.Dst)}
				if w.fates[key] == nil {
					w.fates[key], err = forall.Of(key.host, forall.Options{Families: []netfilter.Family{key.family}})
					require.NoError(t, err)
				}
				fates, err := w.fates[key].At(hop.Input)
				if errors.Is(err, forall.ErrOutside) {
					continue
				}
				require.NoError(t, err)
				at[side] = fates.String()
			}
			if at[0] != at[1] {
				out = append(out, fmt.Sprintf("%s: %s: before %s; after %s", hop.Host, hop.Input, at[0], at[1]))
			}
		}
	}
	return out
}

// TestAllPacketsFindWhatNoClassMeets plants a fault in the rules after the change, of which no class of packets tells.
func TestAllPacketsFindWhatNoClassMeets(t *testing.T) {
	sound := walkedMigration(t, small(t, "legacy", migratedNode), nil)
	require.Len(t, sound.out.AllPackets, 1)
	assert.Empty(t, sound.out.AllPackets[0].Findings)
	assert.False(t, sound.out.AllPackets[0].Open())
	for name, row := range map[string]struct{ old, now, packets, after string }{
		"a port beside a service's": {
			"chain services {", "chain services {\n\t\tip daddr 203.0.113.200 tcp dport 9999 dnat to 10.244.2.2:8080",
			"to 203.0.113.200 tcp port 9999", "to 10.244.2.2 port 8080",
		},
		"some clients": {
			"chain filter-forward {", "chain filter-forward {\n\t\tip saddr 198.18.7.0/24 tcp dport 8080 drop", "198.18.7.", "drop",
		},
		"a node port, which a clause says is not served there": {
			"chain filter-input {", "chain filter-input {\n\t\tip saddr 198.18.7.0/24 ip daddr 10.244.2.1 tcp dport 30083 drop", "198.18.7.",
			"drop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := walkedMigration(t, small(t, "legacy", migratedNode), func(taken *snapshot.NodeSnapshot) {
				i := slices.IndexFunc(taken.NFTables, func(table snapshot.NFTable) bool { return table.Family == "ip" })
				require.Contains(t, taken.NFTables[i].Rules, row.old)
				taken.NFTables[i].Rules = strings.Replace(taken.NFTables[i].Rules, row.old, row.now, 1)
			})
			assert.Len(t, m.out.Findings, len(sound.out.Findings), "no class tells of it")
			found := m.out.AllPackets[0].Findings
			require.NotEmpty(t, found)
			assert.True(t, slices.ContainsFunc(found, func(f explained.Finding) bool {
				return strings.Contains(f.Packets, row.packets) && strings.Contains(f.After, row.after) && len(f.DecidedAfter) > 0
			}), found)
			assert.Equal(t, MigrationFinds, m.out.State())
			m.conclude()
			assert.Contains(t, m.out.Answer, "no clause of the specification says so")
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
			c := small(t, "legacy", migratedNode)
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
		c := small(t, "legacy", migratedNode)
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

// TestMigrateNamesWhoIsSentBack: the services that are named for kubernetes#136499 are those whose packets the two recorded kube-proxies
// treat otherwise in mode nftables: what an endpoint of another node sends to a node port here.
func TestMigrateNamesWhoIsSentBack(t *testing.T) {
	v := Versions{35, 37}
	c := recorded(nil, "legacy", dumpNodes...)
	says := func(m *Migration) *Moved {
		i := slices.IndexFunc(m.Documented, func(d Moved) bool { return strings.Contains(d.Says, "sends back to itself") })
		if i < 0 {
			return nil
		}
		return &m.Documented[i]
	}
	up := says(migrated(t, c, Target{Versions: v, Mode: "nftables"}))
	require.NotNil(t, up)
	assert.Equal(t, []string{"shop/draining", "shop/lb-local", "shop/np-local", "shop/six"}, up.Services)
	assert.Equal(t, "kubernetes#136499", up.Document)
	down := says(ofVersions(t, c, Target{Versions: Versions{36, 35}, Mode: "nftables"}))
	require.NotNil(t, down)
	assert.Regexp(t, "^v1.36: A pod that another node sends back .* v1.35: A pod that calls a node port of another node", down.Says)
	assert.Nil(t, says(ofVersions(t, c, Target{Versions: Versions{36, 37}, Mode: "nftables"})), "both have it")
	assert.Nil(t, says(ofVersions(t, c, Target{Versions: v, Mode: "iptables"})), "the other mode does not")
	for about, config := range map[string]*kubeproxyconfig.KubeProxyConfiguration{
		"pods of other nodes are none of the node's own": {ClusterCIDR: c.Config.ClusterCIDR, DetectLocalMode: "NodeCIDR"},
		"no pods are known": {},
	} {
		assert.Nil(t, says(ofVersions(t, c, Target{Versions: v, Mode: "nftables", Config: config})), about)
	}

	config := &kubeproxyconfig.KubeProxyConfiguration{Mode: "nftables", ClusterCIDR: c.Config.ClusterCIDR}
	named, seen := []string{}, []string{}
	for _, s := range c.services() {
		name := s.Namespace + "/" + s.Name
		if sendsBack(c, migratedNode, config, s) {
			named = append(named, name)
		}
		if keepsSource(t, c, s, "v1.37") && !keepsSource(t, c, s, "v1.35") {
			seen = append(seen, name)
		}
	}
	assert.Equal(t, seen, named)
	assert.Equal(t, []string{"shop/draining"}, seen, "the others have their endpoints on the node of the recording")
}

// keepsSource says whether an endpoint of another node that calls a node port of the service at the recorded node may be sent back to
// itself with its own address as the source, by the rules of a recorded kube-proxy.
func keepsSource(t *testing.T, c *Cluster, s *corev1.Service, version string) bool {
	t.Helper()
	text, err := fs.ReadFile(dumps.KubeProxy(), version+"/nftables.rules")
	require.NoError(t, err)
	nodes := map[bool]netip.Addr{false: netip.MustParseAddr("172.18.0.3"), true: netip.MustParseAddr("fc00:f853:ccd:e793::3")}
	saved, err := snapshot.ReadSaved(version, bytes.NewReader(text), snapshot.RulesOptions{Local: slices.Collect(maps.Values(nodes))})
	require.NoError(t, err)
	for _, slice := range c.slices() {
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if serviceOf(slice) != s.Namespace+"/"+s.Name || e.NodeName != nil && *e.NodeName == migratedNode {
				continue
			}
			pod, _ := parse(e.Addresses[0])
			for _, port := range s.Spec.Ports {
				if port.NodePort == 0 {
					continue
				}
				to := netip.AddrPortFrom(nodes[pod.Is6()], uint16(port.NodePort))
				protocol, from := strings.ToLower(string(port.Protocol)), netip.AddrPortFrom(pod, 40000)
				in, err := inet.ParseInput(fmt.Sprintf("%s %s > %s in eth0", protocol, from, to))
				require.NoError(t, err)
				host, err := saved.Host(in)
				require.NoError(t, err)
				outcomes, err := host.Walk(in)
				require.NoError(t, err)
				if slices.ContainsFunc(outcomes, func(o packetsim.Outcome) bool { return o.Packet.Src == pod && o.Packet.Dst == pod }) {
					return true
				}
			}
		}
	}
	return false
}

// TestThereAndBackIsAsBefore has the law of the cluster after a change: after the way back all packets of a node are treated as by the
// rules that were recorded of kube-proxy itself, and a second round changes nothing at all. But for packets to loopback addresses from
// elsewhere where the rule that leads to KUBE-FIREWALL stood first: it outlives the change, and kube-proxy writes its own before it.
// The answer says so (TestTheWayBackSaysWhetherTheNodeIsAsItWas).
func TestThereAndBackIsAsBefore(t *testing.T) {
	for _, tools := range []string{"legacy", "nft"} {
		t.Run(tools, func(t *testing.T) {
			first := small(t, tools, migratedNode)
			there := after(t, first, manifest.ModeNFTables)
			back := after(t, there, manifest.ModeIPTables)
			assert.NotContains(t, there.Snapshots[0].IPTables[0].Save, "KUBE-SVC-")
			assert.NotEmpty(t, there.Snapshots[0].NFTables)
			assert.Empty(t, back.Snapshots[0].NFTables)
			assert.Equal(t, first.Snapshots[0].Devices, back.Snapshots[0].Devices)
			fates := func(c *Cluster) *forall.Fates {
				host, err := snapshot.NewHost(c.Snapshots[0], snapshot.HostOptions{})
				require.NoError(t, err)
				f, err := forall.Of(host, forall.Options{})
				require.NoError(t, err)
				return f
			}
			was, changed, is := fates(first), fates(there), fates(back)
			for d := range was.Diff(is) {
				assert.Equal(t, "legacy", tools, d.Witness)
				assert.True(t, d.Witness.Dst.IsLoopback() && !d.Witness.Src.IsLoopback(), d.Witness)
			}
			assert.False(t, was.Equal(changed), "the way there changes something, of which the specification tells")
			again := after(t, back, manifest.ModeNFTables)
			assert.True(t, changed.Equal(fates(again)), "the second way there")
			assert.True(t, is.Equal(fates(after(t, again, manifest.ModeIPTables))), "the second way back")
		})
	}
}

// TestTheClusterAfterAChangeHasItsConfiguration: that of all is in the objects, and a node with another one keeps it, in the new mode.
func TestTheClusterAfterAChangeHasItsConfiguration(t *testing.T) {
	own := &kubeproxyconfig.KubeProxyConfiguration{ClusterCIDR: "10.244.0.0/16,fd00:10:244::/56", Mode: manifest.ModeIPTables}
	own.IPTables.MasqueradeAll = true
	c := recorded(t, "legacy", migratedNode, "demo-worker2")
	c.NodeConfigs = map[string]*kubeproxyconfig.KubeProxyConfiguration{migratedNode: own}
	there := after(t, c, manifest.ModeNFTables)
	assert.Equal(t, manifest.ModeNFTables, there.NodeConfigs[migratedNode].Mode)
	assert.True(t, there.NodeConfigs[migratedNode].NFTables.MasqueradeAll)
	for i, masquerades := range []bool{true, false} {
		at := slices.IndexFunc(there.Snapshots[i].NFTables, func(t snapshot.NFTable) bool { return t.Family == "ip" && t.Name == "kube-proxy" })
		require.GreaterOrEqual(t, at, 0)
		rules := there.Snapshots[i].NFTables[at].Rules
		assert.Equal(t, masquerades, !strings.Contains(rules, "ip saddr != 10.244.0.0/16"), "the one has no rule about where packets are from")
	}

	m := migrated(t, c, Target{Config: own})
	same, err := m.After()
	require.NoError(t, err)
	assert.Empty(t, same.NodeConfigs, "all have the new one")
	assert.True(t, same.Config.IPTables.MasqueradeAll)

	c = recorded(t, "legacy", migratedNode)
	c.Config = nil
	config, err := manifest.KubeProxyConfigurationOf(after(t, c, manifest.ModeNFTables).Objects)
	require.NoError(t, err)
	assert.Equal(t, "10.244.0.0/16,fd00:10:244::/56", strings.ReplaceAll(config.ClusterCIDR, " ", ""), "the one that was assumed")
}

// after is a cluster after a change of the mode.
func after(t *testing.T, c *Cluster, to kubeproxyconfig.ProxyMode) *Cluster {
	out, err := unwalked(t, c, Target{Mode: to}).clusterAfter()
	require.NoError(t, err)
	config, err := manifest.KubeProxyConfigurationOf(out.Objects)
	require.NoError(t, err)
	assert.Equal(t, to, config.Mode)
	out.Config = nil // the objects say it
	return out
}
