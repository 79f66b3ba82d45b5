package live

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/cause"
)

func TestStaleUDPConnectionsAreFound(t *testing.T) {
	udp := func(client, to, reply string) snapshot.Connection {
		c, s, r := netip.MustParseAddr(client), netip.MustParseAddrPort(to), netip.MustParseAddrPort(reply)
		return snapshot.Connection{
			Original: snapshot.Tuple{Proto: inet.UDP, Src: c, Dst: s.Addr(), SrcPort: 5353, DstPort: s.Port()},
			Reply:    snapshot.Tuple{Proto: inet.UDP, Src: r.Addr(), Dst: c, SrcPort: r.Port(), DstPort: 5353}, Timeout: 100,
		}
	}
	const web, dns, pod = "10.96.125.22:53", "10.96.0.10:53", "10.244.2.3"
	cluster := recorded(t, "legacy", "demo-worker")
	want := map[string][]string{}
	for i, tc := range []struct {
		name    string
		entry   snapshot.Connection
		service string // empty: nothing is wrong
	}{
		{"to a serving endpoint", udp(pod, web, "10.244.1.2:8080"), ""},
		{"to an endpoint that is gone", udp(pod, web, "10.244.1.99:8080"), "shop/web"},
		{"to another port of an endpoint", udp(pod, web, "10.244.1.2:53"), "shop/web"},
		{"past the endpoints", udp(pod, web, web), "shop/web"},
		{"from a pod that the topology does not have", udp("10.244.2.77", web, "10.244.1.99:8080"), "shop/web"},
		{"from outside", udp("198.51.100.200", web, "10.244.1.99:8080"), "shop/web"},
		{"to a service without endpoints, which rejects", udp(pod, dns, "10.244.0.2:53"), "kube-system/kube-dns"},
		{"to no service", udp(pod, "10.244.1.2:9999", "10.244.1.2:9999"), ""},
		{"of the other family", udp("fd00:10:244:2::3", "[fd00:10:244:1::2]:9999", "[fd00:10:244:1::2]:9999"), ""},
	} {
		port := uint16(5353 + i)
		tc.entry.Original.SrcPort, tc.entry.Reply.DstPort = port, port
		cluster.Snapshots[0].Conntrack = append(cluster.Snapshots[0].Conntrack, tc.entry)
		if tc.service != "" {
			command := fmt.Sprintf("demo-worker: conntrack -D -p udp --orig-src %s --orig-dst %s --sport %d --dport 53",
				tc.entry.Original.Src, tc.entry.Original.Dst, port)
			want[tc.service] = append(want[tc.service], command)
		}
	}
	report, err := cluster.Examine(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	f := &report.Findings[0]
	assert.Equal(t, cause.ConntrackStale, f.Code)
	assert.Equal(t, []string{"kube-system/kube-dns", "shop/web"}, f.Services)
	assert.Equal(t, "stale-udp-flow", f.Clauses[0].Clause)
	assert.Equal(t, len(f.Remembered), f.Suffering)
	_, _, err = cluster.Witness(t.Context(), f, 0)
	require.ErrorIs(t, err, ErrNoWitness)
	var all []string
	for _, remembered := range want {
		all = append(all, remembered...)
		assert.Contains(t, textOf(t, report), "forget    "+remembered[0])
	}
	assert.ElementsMatch(t, all, f.Remembered)
}

func TestLiveConnectionsAreJudged(t *testing.T) {
	established := func(client, to, reply, state string) snapshot.Connection {
		c, s, r := netip.MustParseAddrPort(client), netip.MustParseAddrPort(to), netip.MustParseAddrPort(reply)
		return snapshot.Connection{
			Original: snapshot.Tuple{Proto: inet.TCP, Src: c.Addr(), Dst: s.Addr(), SrcPort: c.Port(), DstPort: s.Port()},
			Reply:    snapshot.Tuple{Proto: inet.TCP, Src: r.Addr(), Dst: c.Addr(), SrcPort: r.Port(), DstPort: c.Port()},
			State:    state, Timeout: 1000, Replied: true, Assured: true,
		}
	}
	const web, pod, endpoint = "10.96.125.22:80", "10.244.2.3", "10.244.1.2:8080"
	const of = "-A FORWARD %s 10.244.2.3/32 -p tcp -m tcp %s 51234 -j DROP"
	for _, tc := range []struct {
		name, rule string
		entry      snapshot.Connection
		service    string // of which a connection suffers
		clause     string // empty: nothing is wrong
	}{
		{"data of the client", fmt.Sprintf(of, "-s", "--sport"), established(pod+":51234", web, endpoint, "ESTABLISHED"),
			"shop/web", "live-connection-survives"},
		{"data of the server", fmt.Sprintf(of, "-d", "--dport"), established(pod+":51234", web, endpoint, "ESTABLISHED"),
			"shop/web", "replies-come-back"},
		{"of no service", fmt.Sprintf(of, "-s", "--sport"), established(pod+":51234", "10.244.1.2:8081", "10.244.1.2:8081", "ESTABLISHED"),
			"", "live-connection-survives"},
		{"another connection", fmt.Sprintf(of, "-s", "--sport"), established(pod+":51235", web, endpoint, "ESTABLISHED"), "", ""},
		{"one that is ending", fmt.Sprintf(of, "-s", "--sport"), established(pod+":51234", web, endpoint, "TIME_WAIT"), "", ""},
		{"to an endpoint that is gone", fmt.Sprintf(of, "-s", "--sport"), established(pod+":51234", web, "10.244.1.99:8080", "ESTABLISHED"),
			"", ""},
		{"of a pod that is gone", fmt.Sprintf(of, "-s", "--sport"), established("10.244.2.77:51234", web, endpoint, "ESTABLISHED"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := small(t, "legacy", "demo-worker")
			cluster.AllPackets = false // some of the rules stop replies to others too
			cluster.Snapshots[0].Conntrack = []snapshot.Connection{tc.entry}
			edit(t, cluster.Snapshots[0], netfilter.IPv4, "-A FORWARD -m comment", tc.rule+"\n[0:0] -A FORWARD -m comment")
			e, err := cluster.exam()
			require.NoError(t, err)
			_, err = e.look(t.Context(), e.established())
			require.NoError(t, err)
			if tc.clause == "" {
				assert.Empty(t, e.report.Findings)
				return
			}
			require.Len(t, e.report.Findings, 1)
			f := &e.report.Findings[0]
			assert.Equal(t, tc.service, strings.Join(f.Services, " "))
			assert.Equal(t, 1, f.Suffering)
			assert.Equal(t, tc.clause, f.Clauses[0].Clause)
			require.Len(t, f.Foreign, 1)
			assert.Equal(t, tc.rule, f.Foreign[0].Text)
			assert.False(t, f.Heals)
			if tc.service != "" {
				assert.Contains(t, witnessed(t, cluster, f), "- flow: {of: first, from: ")
			}
		})
	}
}

// Connections that the recorded nodes remember go on; they are of the nodes themselves with the API server.
func TestRecordedConnectionsGoOn(t *testing.T) {
	e, err := recorded(t, "legacy", dumpNodes...).exam()
	require.NoError(t, err)
	errands := e.established()
	assert.Greater(t, len(errands), 20)
	suffer, err := e.look(t.Context(), errands)
	require.NoError(t, err)
	assert.Zero(t, suffer)
}

// withRule is a node of the small cluster with a rule in FORWARD. All of its packets are looked at.
func withRule(t *testing.T, rule string) *Cluster {
	t.Helper()
	cluster := small(t, "legacy", "demo-worker")
	cluster.AllPackets = true
	edit(t, cluster.Snapshots[0], netfilter.IPv4, "-A FORWARD -m comment", rule+"\n[0:0] -A FORWARD -m comment")
	return cluster
}

// Rules that stop replies to some of all packets, and not those to the packets of each class that are walked anyway.
func TestRulesThatStopRepliesAreFoundAmongAllPackets(t *testing.T) {
	for _, row := range []struct{ name, rule, replies, service string }{
		{"by the port of the client", "-A FORWARD -p tcp -m tcp --dport 41000:41099 -j DROP", "port 41000-41099", "shop/web"},
		{"by the state of the connection", "-A FORWARD -p udp -m udp --dport 45000:45999 -m conntrack --ctstate ESTABLISHED -j DROP",
			"port 45000-45999", ""},
		{"by the port of the server", "-A FORWARD -s 10.244.2.3/32 -p tcp -m tcp --sport 8080 --dport 41000:41099 -j REJECT " +
			"--reject-with tcp-reset",
			"from 10.244.2.3 source port 8080", "shop/web"},
		{"by an address outside", "-A FORWARD -d 203.0.113.128/25 -m conntrack --ctstate ESTABLISHED -j DROP",
			"to 203.0.113.128-203.0.113.255", "shop/np-local"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cluster := withRule(t, row.rule)
			report := examined(t, cluster)
			text := textOf(t, report)
			require.Len(t, report.Findings, 1, text)
			f := &report.Findings[0]
			assert.Equal(t, cause.ForeignDrop, f.Code)
			assert.Equal(t, []string{"demo-worker"}, f.Nodes)
			require.Len(t, f.Foreign, 1)
			assert.Equal(t, row.rule, f.Foreign[0].Text)
			require.NotEmpty(t, f.Stopped)
			t.Log(text)
			assert.Contains(t, text, row.replies)
			if row.service != "" {
				assert.Contains(t, f.Services, row.service)
			}
			if f.Outside { // no machine of the scenario has the address
				_, _, err := cluster.Witness(t.Context(), f, 0)
				require.ErrorIs(t, err, ErrNoWitness)
			} else {
				assert.Contains(t, witnessed(t, cluster, f), strings.TrimPrefix(row.rule, "-A FORWARD"))
			}
			cluster.AllPackets = false
			assert.Empty(t, examined(t, cluster).Findings, "no packet of a class meets it")
		})
	}
}

// What is stopped of set purpose, or only perhaps, is no finding.
func TestRepliesThatNobodyIsPromised(t *testing.T) {
	for name, row := range map[string]struct{ rule, says string }{
		"the port of a server":                   {"-A FORWARD -p tcp -m tcp --dport 3306 -j DROP", ""},
		"a port that nobody serves":              {"-A FORWARD -s 10.244.2.3/32 -p tcp -m tcp --sport 9999 -j DROP", ""},
		"a source that nobody has":               {"-A FORWARD -s 10.99.0.0/16 -j DROP", ""},
		"an address outside that is blocked":     {"-A FORWARD -d 203.0.113.128/25 -j DROP", ""},
		"the packets themselves are stopped too": {"-A FORWARD -s 192.0.2.0/24 -j DROP", ""},
		"only if a list has the client": {"-A FORWARD -p tcp -m tcp --dport 50000:60000 -m recent --rcheck --name seen --mask 255.255.255.255 " +
			"--rdest -j DROP", "only if [-m recent --rcheck --name seen"},
	} {
		t.Run(name, func(t *testing.T) {
			if row.says == "" {
				row.says = "where a packet gets through, the reply does"
			}
			report := examined(t, withRule(t, row.rule))
			assert.Empty(t, report.Findings, textOf(t, report))
			require.Len(t, report.AllPackets, 1)
			assert.Contains(t, report.AllPackets[0].Answer, row.says)
		})
	}
}
