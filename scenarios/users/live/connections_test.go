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
			cluster := recorded(t, "legacy", "demo-worker")
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
