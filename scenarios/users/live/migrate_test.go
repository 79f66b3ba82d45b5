package live

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets/explained"
)

const migratedNode = "demo-worker"

func migrated(t *testing.T, c *Cluster, to Target) *Migration {
	m, err := c.Migrate(context.Background(), to)
	require.NoError(t, err)
	return m
}

// asRecorded is the change of the recorded cluster to mode nftables. Nobody changes it.
var asRecorded = sync.OnceValues(func() (*Migration, error) {
	return recorded(nil, "legacy", dumpNodes...).Migrate(context.Background(), Target{AllPackets: true})
})

// documented is the difference by a clause; nil if there is none.
func (m *Migration) documented(clause string) *Moved {
	i := slices.IndexFunc(m.Documented, func(d Moved) bool { return d.Clause == clause })
	if i < 0 {
		return nil
	}
	return &m.Documented[i]
}

// TestMigrateNamesWhatChanges has a row for each difference between the modes that users meet.
func TestMigrateNamesWhatChanges(t *testing.T) {
	base, err := asRecorded()
	require.NoError(t, err)
	for clause, wants := range map[string]struct {
		unserved bool
		packet   string
	}{
		"node-port-at-primary-addresses": {true, ".1:30"},
		"no-node-port-at-loopback":       {true, "TCP 127.0.0.1:30"},
		"unused-port-rejected":           {false, ":442 from"},
		"affinity-of-another-mode":       {false, ""},
	} {
		t.Run(clause, func(t *testing.T) {
			d := base.documented(clause)
			require.NotNil(t, d)
			assert.Equal(t, wants.unserved, d.Unserved > 0)
			assert.NotEmpty(t, d.Document)
			assert.NotEmpty(t, d.Set)
			if wants.packet != "" {
				assert.NotEmpty(t, d.Sentence)
				assert.Contains(t, d.Example.Packet, wants.packet)
				assert.NotEqual(t, d.Example.Before, d.Example.After)
				assert.NotEmpty(t, d.Example.WayBefore)
				assert.NotEmpty(t, d.Example.WayAfter)
			}
		})
	}
	assert.Nil(t, base.documented("firewall-decides"), "the node has no firewall")
	assert.Equal(t, "iptables", base.Nodes[slices.IndexFunc(base.Nodes, func(n MigratedNode) bool { return n.Name == migratedNode })].From)
	assert.Equal(t, MigrationFinds, base.State())
	for i := range base.Findings {
		assert.Equal(t, "hairpin-of-another-node", base.Findings[i].Clause, "no document tells of it")
		assert.Contains(t, base.Findings[i].Set, "call the cluster IP")
	}
	assert.True(t, slices.ContainsFunc(base.Findings, func(m Moved) bool {
		return m.Cause.Code == cause.Martian && strings.Contains(m.Cause.Says, "which sent it and takes nothing from its own address")
	}), "of IPv4; over IPv6 the pod takes the packet, and answers itself")
}

// A policy DROP of FORWARD is passed in mode iptables only by what kube-proxy accepts itself.
func TestMigrateNamesTheFirewall(t *testing.T) {
	c := small(t, "legacy", migratedNode)
	edit(t, c.Snapshots[0], netfilter.IPv4, ":FORWARD ACCEPT", ":FORWARD DROP")
	m := migrated(t, c, Target{})
	d := m.documented("firewall-decides")
	require.NotNil(t, d)
	assert.Positive(t, d.Unserved)
	assert.Equal(t, "CW101", string(d.Cause.Code))
	assert.Contains(t, d.Set, "--ctstate DNAT,ESTABLISHED,RELATED -j ACCEPT")
}

func TestMigrateNamesWhatConfigurationsChange(t *testing.T) {
	everywhere := &kubeproxyconfig.KubeProxyConfiguration{
		ClusterCIDR: "10.244.0.0/16,fd00:10:244::/56", NodePortAddresses: []string{"0.0.0.0/0", "::/0"},
	}
	t.Run("node ports at all addresses in both modes", func(t *testing.T) {
		c := small(t, "legacy", migratedNode)
		c.Config = everywhere
		m := migrated(t, c, Target{Mode: manifest.ModeNFTables})
		assert.Nil(t, m.documented("node-port-at-primary-addresses"))
		assert.NotNil(t, m.documented("no-node-port-at-loopback"), "no setting brings that back")
	})
	t.Run("the configuration that they have", func(t *testing.T) {
		c := small(t, "legacy", migratedNode)
		m := migrated(t, c, Target{Config: c.Config})
		assert.Equal(t, m.Ways, m.Same)
		assert.Empty(t, m.Findings)
		assert.Empty(t, m.Documented)
		for _, moment := range m.Moments {
			if moment.Name != "the new kube-proxy has started, and has not synced" {
				assert.Zero(t, moment.Otherwise, moment.Name)
			}
			assert.Zero(t, moment.Broken, moment.Name)
		}
	})
	t.Run("masquerading of everything", func(t *testing.T) {
		c := small(t, "legacy", migratedNode)
		own := c.Config.DeepCopy()
		own.IPTables.MasqueradeAll = true
		m := migrated(t, c, Target{Config: own})
		require.NotEmpty(t, m.Findings)
		assert.Less(t, m.Same, m.Ways)
	})
}

func TestMigrateWalksEachMoment(t *testing.T) {
	m, err := asRecorded()
	require.NoError(t, err)
	require.Len(t, m.Moments, 4)
	assert.Positive(t, m.Moments[1].Unserved, "nothing is served between the cleanup and the first sync")
	assert.Less(t, m.Moments[2].Unserved, m.Moments[1].Unserved)
	assert.Zero(t, m.Moments[3].Otherwise, "the way back leads to where it was")
	for _, moment := range m.Moments {
		assert.Zero(t, moment.Broken, "what is established goes on: %s", moment.Name)
	}
}

func TestMigrateNamesWhatNoPacketTells(t *testing.T) {
	c := recorded(t, "legacy", migratedNode)
	c.Snapshots[0].Sysctls["net.ipv4.conf.all.route_localnet"] = "1"
	c = withOther(t, c, migratedNode, func(node *corev1.Node) { node.Status.NodeInfo.KernelVersion = "5.10.0-28-amd64" })
	c = withOther(t, c, "dual", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"198.51.100.77"} })
	c = withOther(t, c, "draining", func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"198.51.100.77"} })
	m := migrated(t, c, Target{})
	assert.Contains(t, m.Findings[len(m.Findings)-1].Says+m.Findings[0].Says, "Linux 5.10.0-28-amd64")
	assert.True(t, slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "route_localnet stays 1") }), m.Notes)
	assert.True(t, slices.ContainsFunc(m.Unjudged, func(u Unjudged) bool {
		return strings.Contains(u.Why, "tcp 198.51.100.77:80, which shop/draining and shop/dual claim")
	}), m.Unjudged)
}

// Whose rules were walked, and what kube-proxy's do otherwise, is said before all other notes.
func TestMigrateSaysWhoseRulesItWalked(t *testing.T) {
	m, err := asRecorded()
	require.NoError(t, err)
	assert.Contains(t, m.Notes[0], "chainwalk's proxier writes")
	assert.Contains(t, m.Notes[0], "reject echo requests")
	c := recorded(t, "legacy", migratedNode)
	same := migrated(t, small(t, "legacy", migratedNode), Target{Config: c.Config})
	assert.False(t, slices.ContainsFunc(same.Notes, func(n string) bool { return strings.Contains(n, "chainwalk's proxier") }))
	c = withOther(t, c, "empty", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })
	c = withOther(t, c, sliceOf(t, c, "web"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].NodeName = nil })
	m = migrated(t, c, Target{})
	assert.Contains(t, m.Notes[2], "drops clients outside of loadBalancerSourceRanges")
	assert.Contains(t, m.Notes[2], "shop/empty")
	assert.Contains(t, m.Notes[3], "shop/web")
}

// sliceOf is the name of a slice of a service.
func sliceOf(t *testing.T, c *Cluster, service string) string {
	for _, s := range c.slices() {
		if s.Labels[discoveryv1.LabelServiceName] == service && len(s.Endpoints) > 0 {
			return s.Name
		}
	}
	t.Fatalf("%s has no slice", service)
	return ""
}

func TestRemediesAreOfClauses(t *testing.T) {
	for name, remedy := range remedies {
		clause := oracle.ByName(name)
		require.NotNil(t, clause, name)
		assert.True(t, clause.Mode == oracle.NFTables, name)
		assert.NotEmpty(t, remedy)
	}
}

// The way back from mode nftables is judged like the way there: each documented difference again, the other way round.
func TestMigrateFromModeNFTables(t *testing.T) {
	c := small(t, "legacy", migratedNode)
	e := newMigration(c, Target{Mode: manifest.ModeNFTables})
	var err error
	e.before, err = c.exam()
	require.NoError(t, err)
	require.NoError(t, e.choose())
	e.after, err = e.examAfter()
	require.NoError(t, err)
	switched, err := snapshot.Of(e.after.lab.Network.Host(migratedNode).Host)
	require.NoError(t, err)
	c.Snapshots[0].IPTables, c.Snapshots[0].NFTables = switched.IPTables, switched.NFTables
	m := migrated(t, c, Target{})
	i := slices.IndexFunc(m.Nodes, func(n MigratedNode) bool { return n.Name == migratedNode })
	assert.Equal(t, "nftables", m.Nodes[i].From)
	assert.Equal(t, "iptables", m.Nodes[i].To)
	d := m.documented("node-port-at-primary-addresses")
	require.NotNil(t, d)
	assert.Contains(t, d.Example.Before, "refused by demo-worker")
	assert.Contains(t, d.Example.After, "delivered by")
	assert.Zero(t, d.Unserved)
	for _, moment := range m.Moments {
		assert.Zero(t, moment.Broken, moment.Name)
	}
	assert.Zero(t, m.Moments[3].Otherwise)
}

func TestMigrateSaysWhatItCannot(t *testing.T) {
	_, err := small(t, "legacy").Migrate(context.Background(), Target{})
	require.ErrorContains(t, err, "nothing can be said of any node")
	require.ErrorContains(t, err, "chainwalk snapshot")
	m := migrated(t, small(t, "legacy", migratedNode), Target{})
	assert.Contains(t, m.Answer, "2 nodes cannot be judged")
}

// TestMigrateLeavesLargeNodesOut: all packets of a node with many devices are not compared unasked, and the answer says so.
func TestMigrateLeavesLargeNodesOut(t *testing.T) {
	unlimited, err := asRecorded()
	require.NoError(t, err)
	for i := range unlimited.AllPackets {
		assert.Empty(t, unlimited.AllPackets[i].Skipped)
	}
	c := small(t, "legacy", migratedNode)
	for most, skipped := range map[int]bool{1000: false, 3: true} {
		m := migrated(t, c, Target{AllPackets: true, MostDevices: most})
		require.Len(t, m.AllPackets, 1)
		assert.Equal(t, skipped, m.AllPackets[0].Skipped != "", most)
		assert.Equal(t, skipped, m.AllPackets[0].Kinds == 0, most)
		assert.Equal(t, skipped, strings.Contains(m.Answer, "on 1 node only one packet of each class was compared"), m.Answer)
		var text bytes.Buffer
		require.NoError(t, m.WriteText(&text, false))
		said := strings.Contains(text.String(), "all packets of "+migratedNode+": not compared, only one of each class: it has ")
		assert.Equal(t, skipped, said, text.String())
	}
}

func TestMigrationAsTextIsOneScreen(t *testing.T) {
	m, err := asRecorded()
	require.NoError(t, err)
	var short, long, again bytes.Buffer
	require.NoError(t, m.WriteText(&short, false))
	require.NoError(t, m.WriteText(&long, true))
	assert.LessOrEqual(t, strings.Count(short.String(), "\n"), 60)
	assert.Greater(t, long.Len(), short.Len())
	assert.Contains(t, short.String(), "step by step:")
	require.NoError(t, m.WriteJSON(&again))
	assert.Contains(t, again.String(), `"kind": "Migration"`)
}

// What former kube-proxies have left is named, with what it does and how to remove it.
func TestMigrateNamesResidues(t *testing.T) {
	ipvs := func(t *testing.T) *Cluster {
		c := small(t, "legacy", migratedNode)
		c.Snapshots[0].Devices = append(c.Snapshots[0].Devices, snapshot.Device{Name: "kube-ipvs0", Kind: "dummy", MTU: 1500,
			Addresses: []snapshot.Address{{Prefix: netip.MustParsePrefix("10.96.0.1/32")}}})
		c.Snapshots[0].IPSets = "create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536\n"
		return c
	}
	t.Run("left behind mode iptables", func(t *testing.T) {
		m := migrated(t, ipvs(t), Target{})
		assert.Positive(t, m.Ways, "rules of mode iptables are there")
		assert.True(t, slices.ContainsFunc(m.Notes, func(n string) bool {
			return strings.Contains(n, "device kube-ipvs0 (addresses: 1), 1 set (KUBE-CLUSTER-IP)") && strings.Contains(n, "removes all of it")
		}), m.Notes)
		c := ipvs(t)
		m = migrated(t, c, Target{Config: c.Config})
		require.Len(t, m.Findings, 1)
		assert.Contains(t, m.Findings[0].Says, "kube-proxy in mode iptables leaves all of it")
		assert.Contains(t, m.Findings[0].Set, "ip link delete kube-ipvs0")
	})
	t.Run("mode ipvs runs", func(t *testing.T) {
		c := ipvs(t)
		c.Snapshots[0].IPTables = nil
		m := migrated(t, c, Target{Mode: manifest.ModeIPTables})
		require.Len(t, m.Findings, 1)
		assert.Equal(t, MigrationFinds, m.State())
		assert.Contains(t, m.Answer, "3 nodes cannot be judged; 1 finding. demo-worker has what kube-proxy makes in mode ipvs")
		m = migrated(t, c, Target{Mode: manifest.ModeNFTables})
		assert.Empty(t, m.Findings)
		assert.Equal(t, MigrationUnknown, m.State())
		assert.Contains(t, m.Answer, "what is known of them stands in the notes")
		assert.Contains(t, strings.Join(m.Notes, "\n"),
			"demo-worker: mode ipvs serves node ports at no loopback address, and mode nftables serves none either")
	})
	t.Run("chains of kube-proxy before v1.24", func(t *testing.T) {
		c := small(t, "legacy", migratedNode)
		edit(t, c.Snapshots[0], netfilter.IPv4, "*nat\n", "*nat\n:KUBE-XLB-AAAAAAAAAAAAAAAA - [0:0]\n")
		m := migrated(t, c, Target{Config: c.Config})
		require.Len(t, m.Findings, 1)
		assert.Equal(t, "kubernetes#132516", m.Findings[0].Document)
		assert.Contains(t, m.Findings[0].Set, "iptables-legacy -t nat -F CHAIN")
	})
	t.Run("rules of both tools", func(t *testing.T) {
		c := small(t, "legacy", migratedNode)
		c.Snapshots[0].IPTables = append(c.Snapshots[0].IPTables, small(t, "nft", migratedNode).Snapshots[0].IPTables...)
		c.Dialect = netfilter.NFT
		m := migrated(t, c, Target{Config: c.Config})
		i := slices.IndexFunc(m.Findings, func(f Moved) bool { return f.Document == "kubernetes#109811" })
		require.GreaterOrEqual(t, i, 0)
		assert.Contains(t, m.Findings[i].Set, "kube-proxy --cleanup")
	})
	t.Run("none", func(t *testing.T) {
		m := migrated(t, small(t, "legacy", migratedNode), Target{})
		for _, note := range m.Notes {
			assert.NotContains(t, note, "ipvs")
		}
	})
}

// TestMigrationAsAPage has everything that the text has, and the ways of each example before and after.
func TestMigrationAsAPage(t *testing.T) {
	m, err := asRecorded()
	require.NoError(t, err)
	var page strings.Builder
	require.NoError(t, m.WriteHTML(&page))
	_, classes := tagsOf(t, page.String())
	assert.Equal(t, len(m.Findings)+len(m.Documented), classes["finding"])
	assert.Contains(t, page.String(), "Step by step")
	for i := range m.AllPackets {
		assert.Contains(t, page.String(), "of "+m.AllPackets[i].Node+": "+m.AllPackets[i].Answer)
	}
	for i := range m.Moments[3].AllPackets {
		all := &m.Moments[3].AllPackets[i]
		assert.Contains(t, page.String(), "All packets of "+all.Node+": "+all.Answer)
	}
	assert.Contains(t, page.String(), "The way before")
	assert.Contains(t, page.String(), "The way after")
	assert.Contains(t, page.String(), "service shop/", "objects have their names")
	assert.Positive(t, classes["lanes"])
	for i := range m.Documented {
		assert.Contains(t, page.String(), m.Documented[i].Clause)
	}

	evil := func(text string) string {
		kind := explained.Finding{Share: text, Packets: text, Packet: text, Ends: text, Before: text, After: text,
			DecidedBefore: []string{text}, DecidedAfter: []string{text}}
		m := &Migration{
			Answer: text, Nodes: []MigratedNode{{Name: text, Why: text}}, Notes: []string{text}, Unjudged: []Unjudged{{Why: text}},
			Doubts: []Doubt{{Doubt: packetsim.Doubt{Unless: text, See: text}}},
			Moments: []Moment{{Name: text, Says: text, AllPackets: []explained.Answer{
				{Node: text, Answer: text, Kinds: 1, Findings: []explained.Finding{kind}, Unknown: []string{text}},
			}}},
			Findings: []Moved{{Clause: text, Says: text, Sentence: text, Document: text, Services: []string{text}, Set: text, Ways: 1,
				Cause:   cause.Cause{Code: cause.Code(text), Says: text},
				Example: &MovedPacket{Packet: text, Before: text, After: text, WayBefore: []string{text}, WayAfter: []string{text}}}},
			AllPackets: []explained.Answer{{Node: text, Answer: text, Findings: []explained.Finding{kind},
				Covered: []explained.Covered{{Clause: text, Kinds: 1, Example: kind}}, Unknown: []string{text}, LeftOut: []string{text}}},
		}
		var page strings.Builder
		require.NoError(t, m.WriteHTML(&page))
		return page.String()
	}
	want, _ := tagsOf(t, evil("word"))
	text := evil(`</code></pre><script>alert(1)</script>" onload='x' <img src=http://h/>`)
	got, _ := tagsOf(t, text)
	assert.Equal(t, want, got, "texts make no element and no attribute")
	assert.Contains(t, text, "&lt;script&gt;")
}

// TestMigrateBetweenVersions: each known difference between two versions is named where services meet it, both ways, and no mode changes.
func TestMigrateBetweenVersions(t *testing.T) {
	v, err := ParseVersions("v1.35.2", "1.37")
	require.NoError(t, err)
	assert.Equal(t, Versions{35, 37}, v)
	c := small(t, "legacy", dumpNodes...)
	up := migrated(t, c, Target{Versions: v})
	for i := range up.Nodes {
		assert.Equal(t, up.Nodes[i].From, up.Nodes[i].To)
	}
	assert.Empty(t, up.Findings)
	said := func(m *Migration) string {
		var b strings.Builder
		require.NoError(t, m.WriteText(&b, true))
		return b.String()
	}
	text := said(up)
	assert.Contains(t, text, "v1.35: Connections of UDP to a service that has lost its last endpoint go on")
	assert.Contains(t, text, "v1.37: kube-proxy asks for no version")
	assert.NotContains(t, text, "more than 128 bytes")
	assert.Contains(t, text, "not more than is named here")
	down := said(ofVersions(t, c, Target{Versions: Versions{37, 36}}))
	assert.Contains(t, down, "v1.36: Connections of UDP to a service that has lost its last endpoint go on")
	same := ofVersions(t, c, Target{Versions: Versions{35, 36}})
	assert.Empty(t, same.Documented)
	for from, to := range map[string]string{
		"1.35": "", "": "1.36", "1.34": "1.37", "1.37": "1.38", "37": "1.36", "x": "y", "1.36x": "1.37", "1": "1.37",
	} {
		_, err := ParseVersions(from, to)
		assert.Error(t, err, "%s to %s", from, to)
	}
}

// A node that never ran mode iptables does not route packets with loopback addresses. Afterwards it does, and kube-proxy guards its
// loopback addresses; if a rule of somebody else lets new packets through to them, that is a finding.
func TestMigrateToModeIPTablesRoutesLoopbackAddresses(t *testing.T) {
	fresh := after(t, small(t, "nft", migratedNode), manifest.ModeNFTables)
	fresh.Snapshots[0].IPTables = nil
	fresh.Snapshots[0].Sysctls["net.ipv4.conf.all.route_localnet"] = "0"
	ofNode := func() *explained.Answer {
		m := migrated(t, fresh, Target{Mode: manifest.ModeIPTables, AllPackets: true})
		i := slices.IndexFunc(m.AllPackets, func(a explained.Answer) bool { return a.Node == migratedNode })
		require.GreaterOrEqual(t, i, 0)
		return &m.AllPackets[i]
	}
	answer := ofNode()
	assert.Empty(t, answer.Findings)
	for _, clause := range []string{"loopback-routed", "health-check-port-open"} {
		assert.True(t, slices.ContainsFunc(answer.Covered, func(c explained.Covered) bool { return c.Clause == clause }), clause)
	}

	fresh.Snapshots[0].IPTables = []snapshot.Rules{{Dialect: netfilter.NFT, Family: netfilter.IPv4,
		Save: "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:KUBE-FIREWALL - [0:0]\n" +
			"-A INPUT -d 127.0.0.0/8 -i eth0 -j ACCEPT\n-A INPUT -j KUBE-FIREWALL\nCOMMIT\n"}}
	answer = ofNode()
	require.NotEmpty(t, answer.Findings)
	for i := range answer.Findings {
		assert.Contains(t, answer.Findings[i].Packets, "to 127.")
		assert.Contains(t, answer.Findings[i].After, "accept local")
	}
}
