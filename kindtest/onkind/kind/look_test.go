package kind

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

func TestEntriesOfConntrack(t *testing.T) {
	for _, row := range []struct {
		line    string
		want    string
		timeout time.Duration
	}{
		{
			"tcp      6 431999 ESTABLISHED src=10.244.2.2 dst=10.96.0.129 sport=40000 dport=80 src=10.244.1.2 dst=10.244.2.2 sport=8080 " +
				"dport=40000 [ASSURED] mark=0 use=1",
			"tcp 10.244.2.2:40000 > 10.96.0.129:80 to 10.244.1.2:8080 from 10.244.2.2:40000", 431999 * time.Second},
		{"udp      17 27 src=fd00::1 dst=fd00::2 sport=1 dport=53 [UNREPLIED] src=fd00::2 dst=fd00::1 sport=53 dport=1 mark=0 use=1",
			"udp [fd00::1]:1 > [fd00::2]:53 to [fd00::2]:53 from [fd00::1]:1", 27 * time.Second},
		{"icmpv6   58 29 src=fd00::1 dst=fd00::2 type=128 code=0 id=7 src=fd00::2 dst=fd00::1 type=129 code=0 id=7 mark=0 use=1",
			"icmp fd00::1 > fd00::2 to fd00::2 from fd00::1", 29 * time.Second},
		{"conntrack v1.4.7 (conntrack-tools): 3 flow entries have been shown.", "", 0},
		{"tcp      6 10 CLOSE src=nonsense dst=10.96.0.129 sport=1 dport=80 src=10.244.1.2 dst=10.244.2.2 sport=8080 dport=40000", "", 0},
		{"", "", 0},
	} {
		e, ok := parseEntry(row.line)
		require.Equal(t, row.want != "", ok, row.line)
		if ok {
			assert.Equal(t, row.want, e.String())
			assert.Equal(t, row.timeout, e.timeout)
		}
	}
}

func TestAKeptConnectionIsKnownOnEveryNode(t *testing.T) {
	f := &flow{from: endpoint("10.244.2.2:40000"), saw: endpoint("172.18.0.4:61000")}
	f.attempt.To.Proto = "tcp"
	for text, want := range map[string]bool{
		"src=10.244.2.2 dst=10.96.0.129 sport=40000 dport=80 src=10.244.1.2 dst=172.18.0.4 sport=8080 dport=61000":  true,
		"src=172.18.0.4 dst=10.244.1.2 sport=61000 dport=8080 src=10.244.1.2 dst=172.18.0.4 sport=8080 dport=61000": true,
		"src=10.244.2.2 dst=10.96.0.129 sport=40001 dport=80 src=10.244.1.2 dst=10.244.2.2 sport=8080 dport=40001":  false,
	} {
		e, ok := parseEntry("tcp 6 100 ESTABLISHED " + text)
		require.True(t, ok)
		assert.Equal(t, want, f.is(&e), text)
	}
	e, ok := parseEntry("udp 17 100 src=10.244.2.2 dst=10.96.0.129 sport=40000 dport=80 src=10.244.1.2 dst=172.18.0.4 sport=8080 dport=61000")
	require.True(t, ok)
	assert.False(t, f.is(&e), "another protocol")
}

func TestCountersAreReadFromMetrics(t *testing.T) {
	assert.Equal(t, map[string]int{"ct_state_invalid_dropped_pkts": 3}, parseCounters([]byte(
		"# HELP x y\nkubeproxy_iptables_ct_state_invalid_dropped_packets_total 3\nkubeproxy_sync_total 1\n")))
}

func TestServicesThatMayAnswer(t *testing.T) {
	c, _ := mapped(t, smallObjects)
	k := newKnowledge()
	for _, o := range c.Objects {
		k.add(o)
	}
	for at, want := range map[string]bool{
		"172.30.0.41:80": true, "[fd00:30::41]:80": true, "198.51.100.5:80": true, "192.168.0.2:30080": true, "172.30.0.41:81": false,
		"10.244.1.100:8080": false,
	} {
		assert.Equal(t, want, len(k.called(endpoint(at))) == 1, at)
		assert.Equal(t, want, k.chancy(endpoint(at)), at)
		assert.False(t, k.sticky(endpoint(at)), at)
	}
	k.remove(c.Objects[len(c.Objects)-1].Ref())
	assert.False(t, k.chancy(endpoint("172.30.0.41:80")), "no endpoint is left")
	assert.Len(t, k.called(endpoint("172.30.0.41:80")), 1)
	assert.Len(t, k.all(), len(c.Objects)-1)
}

func TestOrderKeepsConfigurationsTogether(t *testing.T) {
	var all []*scenarios.Scenario
	for _, text := range []string{"name: a", "name: b\nkubeProxy: {iptables: {masqueradeAll: true}}", "name: c",
		"name: d\nkubeProxy: {iptables: {masqueradeAll: true}}", "name: e\ntopology: {nodes: 1}", "name: f\nsteps: [{fault: {flush: [nat]}}]"} {
		if !strings.Contains(text, "steps") {
			text += "\nsteps: [{sync: true}]"
		}
		s, err := scenarios.Read("in.yaml", strings.NewReader(text+"\n"))
		require.NoError(t, err)
		all = append(all, s)
	}
	var names []string
	for _, s := range Order(all) {
		names = append(names, s.Name)
	}
	assert.Equal(t, "a c e b d f", strings.Join(names, " "))
}

func TestWaysOfOneEndAreCounted(t *testing.T) {
	first := scenarios.Way{End: scenarios.Delivered, Heard: true, Server: endpoint("10.244.1.2:80"), Client: endpoint("10.0.0.1:1")}
	second := first
	second.Server = endpoint("10.244.0.2:80")
	again := first
	again.Client = endpoint("10.0.0.1:2") // another port is no other way
	seen := observed([]scenarios.Way{first, second, again, first})
	require.Len(t, seen.Ways, 2)
	assert.Equal(t, 4, seen.Samples)
	assert.True(t, seen.NoRules)
	assert.InDelta(t, 0.75, seen.Ways[0].Probability, 0)
	assert.Zero(t, observed([]scenarios.Way{first}).Samples, "one try that chance had no part in is certain")

	at, err := choose(seen.Ways, endpoint("10.244.1.2:80"))
	require.NoError(t, err)
	assert.Equal(t, 0, at)
	at, err = choose(seen.Ways, scenarios.Attempt{}.Pick)
	require.NoError(t, err)
	assert.Equal(t, 1, at, "the lowest endpoint")
	_, err = choose(seen.Ways, endpoint("10.244.9.9:80"))
	require.EqualError(t, err, "no way leads to 10.244.9.9:80")
}

func TestWhatCannotRunSaysWhy(t *testing.T) {
	for _, row := range []struct{ what, text, why string }{
		{"all that can be had", "steps: [{sync: true}]", ""},
		{"a clock that a proxy looks at", "steps: [{advance: 59m}, {sync: true}]",
			"advance: the clock of a real proxy, which syncs after a time, cannot be moved"},
		{"a clock that kernels look at", "steps: [{advance: 1h}, {connect: {from: node1, to: \"tcp 10.0.0.1:80\", expect: drop}}]", ""},
		{"an hour, after which a sync is another one", "steps: [{advance: 1h}, {sync: true}]", ""},
		{"a clock that a proxy looks at whose tools fail", "steps: [{fault: {restoreFails: 1}}, {advance: 1h}]",
			"advance: the clock of a real proxy, which says after a time that its syncs fail, cannot be moved"},
		{"events", "steps: [{hold: true}, {deliver: {}}]", "deliver: a real API server tells of every change, in order"},
		{"a node that gets no events", "steps: [{hold: true}]", ""},
		{"what is written", "steps: [{writes: {restores: 1}}]", "the test does not see what a real proxy gives to iptables-restore"},
		{"what is written, and more", "steps: [{writes: {restores: 1}}, {healthz: {healthy: true}}]", ""},
		{"counters", "steps: [{rules: {table: nat, counters: {A: 1}}}]", "rules of a real node count other packets as well"},
		{"the mark of a packet of another host", "topology: {pods: [{name: a, node: node1}]}\n" +
			"steps: [{send: {node: node1, packet: \"udp 10.244.1.100:1 > 203.0.113.7:2 in a mark 0x1\", expect: drop}}]",
			"a packet comes without its mark from another host"},
		{"data that a client resets",
			"steps: [{connect: {from: node1, to: \"tcp 10.0.0.1:80\", as: a, expect: drop}}, {flow: {of: a, from: server, expect: stray}}]",
			"flow: a real client resets a connection that it does not know"},
		{"saves that fail", "steps: [{fault: {saveFails: 1}}]", "fault: of the tools of a real node only iptables-restore can be made to fail"},
		{"restores that fail, of two proxiers", "topology: {ipFamily: dual}\nsteps: [{fault: {restoreFails: 1}}]",
			"restoreFails: the proxiers of both families sync apart, and the failures of each are not counted"},
		{"a sync that fails for nothing", "steps: [{sync: true, syncError: a}]", "syncError: a real proxy does not say how a sync has ended"},
		{"a closed OUTPUT", "iptables: {preload: [{save: \"*filter\\n:OUTPUT DROP [0:0]\\nCOMMIT\\n\"}]}\nsteps: [{sync: true}]",
			"preload: an OUTPUT policy of DROP cuts a real node off from the API server"},
		{"a firewall of other tools",
			"iptables: {preload: [{tool: other, save: \"*filter\\nCOMMIT\\n\"}]}\nsteps: [{fault: {tool: nft, run: [iptables -N A]}}]", ""},
		{"translations of other tools", "iptables: {preload: [{tool: other, save: \"*nat\\nCOMMIT\\n\"}]}\nsteps: [{sync: true}]",
			"preload: packets meet the chains first that were made last, and those of a real node's kube-proxy are there already"},
		{"a closed INPUT", "iptables: {preload: [{save: \"*filter\\n:INPUT DROP [0:0]\\nCOMMIT\\n\"}]}\nsteps: [{sync: true}]", ""},
		{"flushed tables", "steps: [{fault: {flush: [nat]}}]", ""},
		{"a chain of the proxy flushed", "steps: [{fault: {run: [iptables -t nat -F KUBE-SERVICES]}}]", ""},
		{"a look before a sync", "steps: [{node: {name: node1, labels: {a: b}}, sync: false}, {healthz: {healthy: true}}]",
			"healthz: a proxy that is stopped until a sync says nothing"},
		{"a look after it", "steps: [{node: {name: node1, labels: {a: b}}, sync: false}, {sync: true}, {healthz: {healthy: true}}]", ""},
		{"an object of the cluster's own",
			"objects: [{apiVersion: v1, kind: Service, metadata: {name: kubernetes}, spec: {ports: [{port: 1}]}}]\nsteps: [{sync: true}]",
			"service default/kubernetes is one of the cluster's own"},
	} {
		t.Run(row.what, func(t *testing.T) {
			s, err := scenarios.Read("in.yaml", strings.NewReader("name: a\n"+row.text))
			require.NoError(t, err)
			assert.Equal(t, row.why, unsupported(s, threeNodes()))
		})
	}
}

// TestTablesOfNFTAreListed: with the scenario's addresses, and nothing where there is no table.
func TestTablesOfNFTAreListed(t *testing.T) {
	session, script := opened(t, shop)
	own := session.mapping.To(parse("172.30.0.41")).String()
	script.exec = func(_ string, c probe.Command) string {
		if strings.Join(c.Argv, " ") == "nft list table ip kube-proxy" {
			return "table ip kube-proxy {\n\tset cluster-ips {\n\t\telements = { " + own + " }\n\t}\n}\n"
		}
		return ""
	}
	text, err := session.List(t.Context(), "node1", scenarios.FamilyIPv4)
	require.NoError(t, err)
	assert.Contains(t, text, "elements = { 172.30.0.41 }")
	script.refuse = func(string) error { return errors.New("Error: No such file or directory") }
	text, err = session.List(t.Context(), "node1", scenarios.FamilyIPv6)
	require.NoError(t, err)
	assert.Empty(t, text)
	script.refuse = func(string) error { return errors.New("gone") }
	_, err = session.List(t.Context(), "node1", scenarios.FamilyIPv6)
	assert.ErrorContains(t, err, "node1: gone")
}
