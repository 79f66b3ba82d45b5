package live

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// textOf is all of a report.
func textOf(t *testing.T, r *Report) string {
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, true))
	return b.String()
}

// examined is what Examine says.
func examined(t *testing.T, c *Cluster) *Report {
	t.Helper()
	report, err := c.Examine(t.Context())
	require.NoError(t, err)
	return report
}

func TestNothingIsWrongWithTheRecordedCluster(t *testing.T) {
	for _, tools := range []string{"nft", "legacy"} {
		t.Run(tools, func(t *testing.T) {
			report, err := recorded(t, tools, dumpNodes...).Examine(t.Context())
			require.NoError(t, err)
			assert.Empty(t, report.Findings)
			assert.Empty(t, report.Unjudged)
			assert.Greater(t, report.Connections, 1500)
			text := textOf(t, report)
			assert.Regexp(t, "^nothing is wrong: [0-9]+ connections judged on 3 nodes\n", text)
			assert.Contains(t, text, "\ndemo-control-plane, demo-worker, demo-worker2: judged by its "+tools+
				" rules, which are kube-proxy's word for word\n")
			assert.Contains(t, text, "note: demo-worker has no route to endpoints without a pod (10.244.2.60, 10.244.2.80")
		})
	}
}

// edit changes the rules of a node's family by editing the text of iptables-save.
func edit(t *testing.T, taken *snapshot.NodeSnapshot, family netfilter.Family, old, now string) {
	taken.IPTables = slices.Clone(taken.IPTables)
	for i := range taken.IPTables {
		if r := &taken.IPTables[i]; r.Family == family {
			require.Contains(t, r.Save, old)
			r.Save = strings.Replace(r.Save, old, now, 1)
			return
		}
	}
	require.Fail(t, "no such rules")
}

// finding is the only thing that is wrong.
func finding(t *testing.T, c *Cluster) *Finding {
	report := examined(t, c)
	require.Len(t, report.Findings, 1, textOf(t, report))
	return &report.Findings[0]
}

// witnessed is the scenario that shows a finding: red with the fault, green without.
func witnessed(t *testing.T, c *Cluster, f *Finding) string {
	s, head, err := c.Witness(t.Context(), f, 0)
	require.NoError(t, err)
	assert.Contains(t, head[0], "chainwalk doctor")
	text, _ := written(t, s)
	return text
}

func TestAWitnessIsMadeSmall(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	cluster.AllPackets = true
	const drop = "-A FORWARD -d 10.244.2.2/32 -p tcp -m tcp --dport 8080 -j DROP"
	edit(t, cluster.Snapshots[1], netfilter.IPv4, "-A FORWARD -m comment", drop+"\n[0:0] -A FORWARD -m comment")
	report := examined(t, cluster)
	whole, _, err := cluster.Witness(t.Context(), &report.Findings[0], 0)
	require.NoError(t, err)
	small, _, err := cluster.Witness(t.Context(), &report.Findings[0], 150)
	require.NoError(t, err)
	before, _ := written(t, whole)
	after, read := written(t, small)
	t.Log(after)
	assert.Less(t, len(after), len(before)*2/3)
	assert.Equal(t, whole.Name, small.Name)
	require.NoError(t, shows(t.Context(), read), "it fails with the rule, and holds without")
	assert.Contains(t, after, "-p tcp -m tcp --dport 8080 -j DROP")
}

func TestAForeignRuleIsNamed(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	cluster.AllPackets = true
	const drop = "-A FORWARD -d 10.244.2.2/32 -p tcp -m tcp --dport 8080 -j DROP"
	edit(t, cluster.Snapshots[1], netfilter.IPv4, "-A FORWARD -m comment", drop+"\n[0:0] -A FORWARD -m comment")
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Findings, 1, "one rule is one thing, whatever suffers from it")
	f := &report.Findings[0]
	text := textOf(t, report)
	assert.Contains(t, text, "foreign   demo-worker: iptables -t filter "+drop+"  (not kube-proxy's, which leaves it alone)")
	assert.Equal(t, cause.ForeignDrop, f.Code)
	assert.Equal(t, []string{"demo-worker"}, f.Nodes)
	assert.False(t, f.Heals)
	assert.False(t, f.Outside)
	require.Len(t, f.Foreign, 1)
	assert.Equal(t, drop, f.Foreign[0].Text)
	assert.Empty(t, append(f.Missing, f.Moved...))
	assert.Subset(t, f.Services, []string{"shop/itp-local", "shop/lb-local", "shop/np-local"})
	assert.NotContains(t, f.Services, "shop/web", "its endpoints are others")
	assert.Contains(t, witnessed(t, cluster, f), "iptables -t filter -I FORWARD 2 -d 10.244.2.2/32 -p tcp -m tcp --dport 8080 -j DROP")
}

func TestAMissingEndpointRuleIsNamed(t *testing.T) {
	cluster := small(t, "nft", dumpNodes...)
	rule := `-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> 10.244.1.2:8080" -m statistic --mode random ` +
		`--probability 0.33333333349 -j KUBE-SEP-XTJTEC7KOHLCQM25`
	edit(t, cluster.Snapshots[0], netfilter.IPv4, "[0:0] "+rule+"\n", "")
	f := finding(t, cluster)
	assert.Equal(t, []string{"shop/web"}, f.Services)
	assert.Equal(t, cause.RuleMissing, f.Code)
	assert.Equal(t, "1 rule of kube-proxy's for shop/web is missing.", f.Says)
	assert.Equal(t, "iptables -t nat "+rule, f.What)
	assert.Equal(t,
		[]Rule{{Node: "demo-control-plane", Family: netfilter.IPv4, Table: "nat", Chain: "KUBE-SVC-67NZLRHBNDSAWJRO", Text: rule,
			Why: "of shop/web"}}, f.Missing)
	assert.Empty(t, f.Foreign)
	assert.True(t, f.Heals)
	assert.NotEmpty(t, f.Packets[0].Way)
	scenario := witnessed(t, cluster, f)
	assert.Contains(t, scenario, "run: [iptables -t nat -D KUBE-SVC-67NZLRHBNDSAWJRO 2]")
	assert.Contains(t, scenario, "iptables: {tools: [nft]}")
	assert.NotContains(t, scenario, "dns-udp", "another port of the service")
	assert.Contains(t, scenario, "ipFamily: ipv4")
}

// What no first packet shows is shown by what comes after it, or by a packet that no client sends.
func TestRulesForLaterPacketsAreMissed(t *testing.T) {
	for _, tc := range []struct{ name, rule, witness string }{
		{"affinity", "-A KUBE-SVC-25FJTMN2OLOPNGWS -m comment --comment \"shop/sticky:http -> 10.244.1.3:8080\" " +
			"-m recent --rcheck --seconds 600 --reap --name KUBE-SEP-KFWMFOBJJP5IVQVX --mask 255.255.255.255 --rsource " +
			"-j KUBE-SEP-KFWMFOBJJP5IVQVX", "expect: {sameAs: first}"},
		{"segments that conntrack rejects", "-A KUBE-FORWARD -m conntrack --ctstate INVALID " +
			"-m nfacct --nfacct-name  ct_state_invalid_dropped_pkts -j DROP", "send: outOfWindow"},
		{"loopback addresses", "-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 " +
			"-m comment --comment \"block incoming localnet connections\" " +
			"-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP", " > 127.0.0.1:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := small(t, "legacy", dumpNodes...)
			cluster.AllPackets = true
			edit(t, cluster.Snapshots[2], netfilter.IPv4, "[0:0] "+tc.rule+"\n", "")
			report := examined(t, cluster)
			require.NotEmpty(t, report.Findings)
			missing, _ := named(report)
			assert.Contains(t, missing,
				Rule{Node: "demo-worker2", Family: netfilter.IPv4, Table: tableOf(tc.rule), Chain: strings.Fields(tc.rule)[1], Text: tc.rule})
			assert.Contains(t, witnessed(t, cluster, &report.Findings[0]), tc.witness)
		})
	}
}

func tableOf(rule string) string {
	if strings.Contains(rule, "KUBE-SVC") {
		return "nat"
	}
	return "filter"
}

func TestRulesOfWhatIsNoMoreAreStale(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	cluster.Objects = slices.DeleteFunc(slices.Clone(cluster.Objects), func(o manifest.Object) bool {
		return o.Meta().GetName() == "ext" || strings.HasPrefix(o.Meta().GetName(), "ext-")
	})
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, report.Findings)
	text := textOf(t, report)
	require.Len(t, report.Findings, 1, screenOf(t, report))
	for _, rule := range []string{
		`-A KUBE-SERVICES -d 198.51.100.7/32 -p tcp -m comment --comment "shop/ext external IP" -m tcp --dport 9000 -j KUBE-EXT-GK6PCQAXGWAYGJRX`,
		`-A KUBE-SERVICES -d 10.96.98.89/32 -p tcp -m comment --comment "shop/ext cluster IP" -m tcp --dport 9000 -j KUBE-SVC-GK6PCQAXGWAYGJRX`,
	} {
		for _, node := range dumpNodes {
			assert.Contains(t, text, "foreign   "+node+": iptables -t nat "+rule+"  (stale: there is no service shop/ext)")
		}
	}
	for _, f := range report.Findings {
		assert.Equal(t, cause.RuleStale, f.Code)
		assert.Empty(t, f.Services)
		assert.Empty(t, f.Missing)
		assert.True(t, f.Heals)
		assert.Equal(t, "other-traffic-untouched", f.Clauses[0].Clause)
	}
	scenario := witnessed(t, cluster, &report.Findings[0])
	assert.Contains(t, scenario, "-N KUBE-SVC-GK6PCQAXGWAYGJRX")
}

func TestAnotherProxiersRulesAreJudgedByWhatTheyDo(t *testing.T) {
	cluster := recorded(t, "legacy", dumpNodes...)
	for _, taken := range cluster.Snapshots {
		taken.IPTables = slices.Clone(taken.IPTables)
		for i := range taken.IPTables {
			save := regexp.MustCompile(` -m comment --comment (?:"[^"]*"|\S+)`).ReplaceAllString(taken.IPTables[i].Save, "")
			taken.IPTables[i].Save = strings.NewReplacer("KUBE-SVC-", "MY-SERVICE-", "KUBE-SEP-", "MY-END-").Replace(save)
		}
	}
	report := examined(t, cluster)
	assert.Empty(t, report.Findings)
	for _, n := range report.Nodes {
		assert.Greater(t, n.Missing, 50)
		assert.Greater(t, n.Foreign, 50)
	}
}

func TestWhatCannotBeJudgedIsCounted(t *testing.T) {
	report, err := recorded(t, "legacy", "demo-worker").Examine(t.Context())
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
	assert.Greater(t, report.Connections, 200)
	var why []string
	for _, u := range report.Unjudged {
		assert.Positive(t, u.Connections)
		why = append(why, u.Why)
	}
	assert.Subset(t, why, []string{
		"from demo-control-plane and its pods: there is no snapshot of it",
		"from outside by demo-worker2: there is no snapshot of it",
		"to addresses of demo-worker2: there is no snapshot of it",
	})
	assert.Contains(t, textOf(t, report), "demo-worker2: no snapshot\n")
}

func TestObjectsNewerThanASnapshotAreNoted(t *testing.T) {
	cluster := recorded(t, "legacy", "demo-worker")
	cluster.Snapshots[0].Taken = time.Date(2026, 11, 20, 9, 55, 27, 0, time.UTC)
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	notes := strings.Join(report.Notes, "\n")
	assert.Contains(t, notes, "endpointslice shop/dual-2v9dq changed after the snapshot of demo-worker was taken (2026-11-20T09:55:27Z)")
	assert.NotContains(t, notes, "service default/kubernetes changed")
}

func TestAReportIsJSON(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	edit(t, cluster.Snapshots[1], netfilter.IPv4, "--to-destination 10.244.2.3:8080\n", "--to-destination 10.244.2.9:8080\n")
	report := examined(t, cluster)
	var b strings.Builder
	require.NoError(t, report.WriteJSON(&b))
	var read Report
	require.NoError(t, json.Unmarshal([]byte(b.String()), &read))
	assert.Equal(t, reportVersion, read.Version)
	require.NotEmpty(t, read.Findings)
	assert.Len(t, read.Findings[0].Missing, 1)
	assert.Len(t, read.Findings[0].Foreign, 1)
}

func TestLoneBackendIsChosen(t *testing.T) {
	cluster := small(t, "legacy", "demo-worker")
	taken := cluster.Snapshots[0]
	taken.IPTables = append(slices.Clone(taken.IPTables), small(t, "nft", "demo-worker").Snapshots[0].IPTables...)
	_, err := cluster.Examine(t.Context())
	require.ErrorIs(t, err, ErrBothDialects)
	cluster.Dialect = "nft"
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	assert.Equal(t, netfilter.NFT, report.Nodes[1].Dialect)
	assert.Equal(t, netfilter.Legacy, report.Nodes[1].Second)
}

// TestDoctorWalksBothBackends: a firewall of the other backend than kube-proxy's stops a service, and tables of nftables are named.
func TestDoctorWalksBothBackends(t *testing.T) {
	cluster := small(t, "legacy", dumpNodes...)
	cluster.AllPackets = true
	for _, taken := range cluster.Snapshots {
		taken.IPTables = append(slices.Clone(taken.IPTables), snapshot.Rules{Dialect: "nft", Family: netfilter.IPv4,
			Save: "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -d 10.244.2.3/32 -p tcp -m tcp --dport 8080 -j DROP\nCOMMIT\n"})
	}
	chains := []snapshot.NFChain{{Name: "f", Hook: "forward"}}
	cluster.Snapshots[1].NFTables = []snapshot.NFTable{{Family: "inet", Name: "guard", Chains: chains}}
	report := examined(t, cluster)
	require.NotEmpty(t, report.Findings)
	foreign := report.Findings[0].Foreign
	require.NotEmpty(t, foreign)
	assert.Equal(t, netfilter.NFT, foreign[0].Dialect)
	assert.Contains(t, foreign[0].String(), ": iptables-nft -t filter -A FORWARD -d 10.244.2.3/32")
	i := slices.IndexFunc(report.Doubts, func(d Doubt) bool {
		return d.Unless == "table inet guard stops or changes it (chain f in forward, priority 0)"
	})
	require.GreaterOrEqual(t, i, 0, report.Doubts)
	assert.Equal(t, []string{cluster.Snapshots[1].Hostname}, report.Doubts[i].Nodes)
	assert.Positive(t, report.Doubts[i].Connections)
	var b strings.Builder
	require.NoError(t, report.WriteText(&b, false))
	assert.Contains(t, b.String(),
		": judged by its legacy rules and those of nft beside them; of the legacy rules 0 of kube-proxy's are missing")
	_, _, err := cluster.Witness(t.Context(), &report.Findings[0], 0)
	assert.ErrorIs(t, err, ErrNoWitness, "a scenario's node has no tools beside kube-proxy's")
}

// TestOpaqueRulesAreNotJudged: rules with an unknown extension leave the rest of the node to be judged, and a scenario of the
// cluster goes without them.
func TestOpaqueRulesAreNotJudged(t *testing.T) {
	const rule = "[0:0] -A FORWARD -p tcp -m geoip --source-country DE -m tcp --dport 53 -j TARPIT --tarpit"
	for _, tools := range []string{"legacy", "nft"} {
		cluster := small(t, tools, dumpNodes...)
		cluster.AllPackets = true
		for _, taken := range cluster.Snapshots {
			for i := range taken.IPTables {
				r := &taken.IPTables[i]
				const chain = ":KUBE-SERVICES - [0:0]\n" // of table filter, the first
				require.Equal(t, 2, strings.Count(r.Save, chain))
				r.Save = strings.Replace(r.Save, chain, chain+rule+"\n", 1)
			}
		}
		report := examined(t, cluster)
		assert.Empty(t, report.Findings, textOf(t, report))
		assert.Greater(t, report.Connections, 200)
		require.NotEmpty(t, report.Unjudged)
		for _, u := range report.Unjudged {
			assert.Regexp(t, "which meet a rule of demo-.*: match geoip of filter:FORWARD:rule:.*--tarpit", strings.Replace(u.Why,
				"not supported: an extension that is not known: ", "", 1))
		}
		s, notes, err := cluster.Scenario(ScenarioOptions{Name: "without"})
		require.NoError(t, err)
		assert.Len(t, notes, 2*len(dumpNodes))
		assert.Contains(t, notes[0], "a scenario cannot have -A FORWARD -p tcp -m geoip")
		_, read := written(t, s)
		holds(t, read)
	}
}

// TestOnlyNodesThatASyncChangesAreAskedAgain holds that the report is the same as if every errand were made on all nodes after a sync.
func TestOnlyNodesThatASyncChangesAreAskedAgain(t *testing.T) {
	for name, damage := range map[string]func(*testing.T, *Cluster){
		"a policy": policy("filter", "FORWARD"),
		"forwarding": func(_ *testing.T, c *Cluster) {
			for key := range c.Snapshots[1].Sysctls {
				if strings.HasSuffix(key, "forwarding") {
					c.Snapshots[1].Sysctls[key] = "0"
				}
			}
		},
		"a rule of a service on one node": func(t *testing.T, c *Cluster) {
			edit(t, c.Snapshots[1], netfilter.IPv4, "-A KUBE-SERVICES -d 10.96.125.22/32", "-A KUBE-SERVICES -d 10.96.125.99/32")
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := small(t, "legacy", dumpNodes...)
			damage(t, cluster)
			want := screenOf(t, examined(t, cluster))
			require.NotContains(t, want, "nothing is wrong")

			e, err := cluster.exam()
			require.NoError(t, err)
			changed := len(e.hostsHealed)
			for _, object := range cluster.nodes() {
				if e.hostsHealed[object.Name] == nil {
					host, err := newHost(e.nodes[object.Name], cluster.hostOptions)
					require.NoError(t, err)
					require.NoError(t, cluster.heal(host, object, e.topology.Configs[object.Name]))
					e.hostsHealed[object.Name] = host
				}
			}
			require.Less(t, changed, len(e.hostsHealed), "a node stays as it is")
			_, err = e.look(t.Context(), e.split(e.errands()))
			require.NoError(t, err)
			assert.Equal(t, screenOf(t, e.report), want)
		})
	}
}
