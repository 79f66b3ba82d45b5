package story_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/scenarios/story"
)

// TestText walks packets on a node and tells the story of each. The command rules gives the node's rules, text writes the whole
// story and summary its short form.
func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var node *packetsim.Host
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "rules" {
				node = traceNode(t, d.Input+"\n")
				return ""
			}
			in, err := packetsim.ParseInput(d.Input)
			require.NoError(t, err)
			outcomes, err := node.Walk(in)
			require.NoError(t, err)
			told := story.Of(packetsim.NewTraceResult(in, outcomes), story.Options{Host: "node1"})
			var b strings.Builder
			require.NoError(t, told.WriteText(&b, story.TextOptions{Summary: d.Cmd == "summary"}))
			return b.String()
		})
	})
}

// traceNode has two pods and a way to those of another node.
func traceNode(t *testing.T, rules string) *packetsim.Host {
	t.Helper()
	prefix, other := netip.MustParsePrefix, netip.MustParseAddr("192.168.0.2")
	kernel, err := fakeipt.LoadSave(fakeipt.IPv4, fakeipt.Legacy, "rules", strings.NewReader(rules))
	require.NoError(t, err)
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
		Netfilter: kernel,
	})
	require.NoError(t, err)
	return h
}
