package story_test

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/internal/dumps"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
)

// TestText walks packets on a node and tells the story of each. The command rules gives the node's rules, text writes the whole
// story, apart each of its outcomes, and summary its short form; send has the packet pass, and the node remember it.
func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata/hosts", func(t *testing.T, path string) {
		var node *packetsim.Host
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "rules" {
				node = traceNode(t, d.Input+"\n")
				return ""
			}
			in, err := inet.ParseInput(d.Input)
			require.NoError(t, err)
			if d.Cmd == "send" {
				_, err := node.Step(in, packetsim.SeededChance(1))
				require.NoError(t, err)
				return ""
			}
			outcomes, err := node.Walk(in)
			require.NoError(t, err)
			told := story.Of(packetsim.NewTraceResult(in, outcomes), story.Options{Host: "node1"})
			var b strings.Builder
			require.NoError(t, told.WriteText(&b, story.TextOptions{Summary: d.Cmd == "summary", Apart: d.Cmd == "apart"}))
			return b.String()
		})
	})
}

// TestSentencesOfRecordedNodes: what is said first of packets on the nodes of a real cluster. The argument is the node; beside has one
// whose rules, of the other backend, are there too.
func TestSentencesOfRecordedNodes(t *testing.T) {
	datadriven.RunTest(t, "testdata/sentences.txt", func(t *testing.T, d *datadriven.TestData) string {
		node := recordedNode(t, d.CmdArgs[0].Key)
		if d.HasArg("beside") {
			node.IPTables = append(node.IPTables, recordedNode(t, d.CmdArgs[1].Vals[0]).IPTables...)
		}
		var b strings.Builder
		for _, packet := range strings.Split(d.Input, "\n") {
			in, err := inet.ParseInput(packet)
			require.NoError(t, err)
			result, err := node.Trace(in, snapshot.HostOptions{}, packetsim.WalkOptions{})
			require.NoError(t, err)
			told := story.Of(result, story.Options{})
			b.WriteString(told.Sentence + "\n")
			require.NoError(t, told.WriteText(io.Discard, story.TextOptions{}))
		}
		return b.String()
	})
}

func recordedNode(t *testing.T, name string) *snapshot.NodeSnapshot {
	t.Helper()
	file, err := dumps.Kind().Open(name + ".yaml")
	require.NoError(t, err)
	node, err := snapshot.Read(name, file)
	require.NoError(t, err)
	return node
}

// TestManyEndpoints: each of a hundred has its own lines, and no more.
func TestManyEndpoints(t *testing.T) {
	const endpoints = 100
	var chains, rules strings.Builder
	for n := range endpoints {
		fmt.Fprintf(&chains, ":KUBE-SEP-%d - [0:0]\n", n)
		chance := ""
		if left := endpoints - n; left > 1 {
			chance = fmt.Sprintf(" -m statistic --mode random --probability %.11f", 1/float64(left))
		}
		fmt.Fprintf(&rules, "-A KUBE-SVC -m comment --comment \"shop/web -> 10.244.2.%d:8080\"%s -j KUBE-SEP-%d\n"+
			"-A KUBE-SEP-%d -p tcp -m tcp -j DNAT --to-destination 10.244.2.%d:8080\n", n, chance, n, n, n)
	}
	save := "*nat\n:PREROUTING ACCEPT [0:0]\n:KUBE-SERVICES - [0:0]\n:KUBE-SVC - [0:0]\n" + chains.String() +
		"-A PREROUTING -j KUBE-SERVICES\n" +
		"-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment \"shop/web cluster IP\" -m tcp --dport 80 -j KUBE-SVC\n" +
		rules.String() + "COMMIT\n*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n"
	node := traceNode(t, save)
	in, err := inet.ParseInput("tcp 10.244.1.3:40000 > 10.96.0.10:80 in veth-b")
	require.NoError(t, err)
	result, err := node.Trace(in, packetsim.WalkOptions{})
	require.NoError(t, err)
	told := story.Of(result, story.Options{})
	require.Len(t, told.Outcomes, endpoints)
	require.Equal(t, "shop/web -> 100 endpoints, 1/100 each, source kept, forwarded by eth0", told.Sentence)
	stopped, err := traceNode(t, strings.Replace(save, ":FORWARD ACCEPT", ":FORWARD DROP", 1)).Trace(in, packetsim.WalkOptions{})
	require.NoError(t, err)
	require.Equal(t, "shop/web -> 100 endpoints, 1/100 each, then dropped by the policy of filter FORWARD",
		story.Of(stopped, story.Options{}).Sentence, "what stops all of them is said once")
	for name, tc := range map[string]struct {
		options story.TextOptions
		most    int // lines
		rules   int // lines with the rule of the Service's address
	}{
		"summary":  {story.TextOptions{Summary: true}, 2 + endpoints, 0},
		"together": {story.TextOptions{}, 40 + endpoints, 1},              // a line for each
		"apart":    {story.TextOptions{Apart: true}, 30 + 7*endpoints, 1}, // a blank line, the outcome, two rules, the destination, route, entry
	} {
		var b strings.Builder
		require.NoError(t, told.WriteText(&b, tc.options), name)
		text := b.String()
		require.LessOrEqual(t, strings.Count(text, "\n"), tc.most, name)
		require.Equal(t, 1, strings.Count(text, "shop/web -> 100"), name)
		require.Equal(t, tc.rules, strings.Count(text, "-A KUBE-SERVICES "), name)
		for n := range endpoints {
			require.Contains(t, text, fmt.Sprintf(" to 10.244.2.%d:8080, source kept, forwarded by eth0 to 192.168.0.2\n", n), name)
		}
	}
}

// traceNode has two pods and a way to those of another node.
func traceNode(t *testing.T, rules string) *packetsim.Host {
	t.Helper()
	prefix, other := netip.MustParsePrefix, netip.MustParseAddr("192.168.0.2")
	kernel := fakekernel.New(fakekernel.Options{})
	require.NoError(t, kernel.Load(netfilter.IPv4, "rules", strings.NewReader(rules)))
	h, err := packetsim.NewHost(packetsim.HostConfig{
		Name: "node1",
		Devices: []packetsim.Device{
			{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("192.168.0.1/24")}}},
			{Name: "veth-a", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("10.244.1.1/32")}}},
			{Name: "veth-b", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("10.244.1.1/32")}}},
		},
		Routes: []packetsim.Route{
			{Dst: prefix("10.244.1.2/32"), Dev: "veth-a", Scope: packetsim.ScopeHost},
			{Dst: prefix("10.244.1.3/32"), Dev: "veth-b", Scope: packetsim.ScopeHost},
			{Dst: prefix("10.244.2.0/24"), Via: other, Dev: "eth0"},
			{Dst: prefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.254"), Dev: "eth0"},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: kernel.Namespace(),
	})
	require.NoError(t, err)
	return h
}
