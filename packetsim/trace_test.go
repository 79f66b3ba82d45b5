package packetsim

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestTrace walks packets on a node and prints them as JSON. The command rules gives the node's rules.
func TestTrace(t *testing.T) {
	var node *Host
	datadriven.RunTest(t, "testdata/trace.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "rules" {
			node = traceNode(t, d.Input+"\n")
			return ""
		}
		in, err := inet.ParseInput(d.Input)
		require.NoError(t, err)
		outcomes, err := node.Walk(in)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, NewTraceResult(in, outcomes).WriteJSON(&b))
		return b.String()
	})
}

// traceNode has two pods and a way to those of another node.
func traceNode(t *testing.T, rules string) *Host {
	other := netip.MustParseAddr("192.168.0.2")
	h, err := NewHost(HostConfig{
		Name: "node1",
		Devices: []Device{
			{Name: "eth0", Up: true, Addresses: addresses("192.168.0.1/24")},
			{Name: "veth-a", Up: true, Addresses: addresses("10.244.1.1/32")},
			{Name: "veth-b", Up: true, Addresses: addresses("10.244.1.1/32")},
		},
		Routes: []Route{
			{Dst: netip.MustParsePrefix("10.244.1.2/32"), Dev: "veth-a", Scope: ScopeHost},
			{Dst: netip.MustParsePrefix("10.244.1.3/32"), Dev: "veth-b", Scope: ScopeHost},
			{Dst: netip.MustParsePrefix("10.244.2.0/24"), Via: other, Dev: "eth0"},
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.254"), Dev: "eth0"},
			{Dst: netip.MustParsePrefix("10.99.0.0/16"), Via: other, Dev: "eth0"},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: restored(t, netfilter.IPv4, rules).Namespace(),
	})
	require.NoError(t, err)
	return h
}

func TestTraceHasNoNullLists(t *testing.T) {
	in, err := inet.ParseInput("udp 10.0.0.1:1 > 10.0.0.2:2")
	require.NoError(t, err)
	outcomes := []Outcome{{Probability: 1, Verdict: Drop, To: ToNone, Reason: ReasonNoRoute, Why: "no route",
		Final: Final{Proto: inet.UDP, Src: in.Src,
			Dst: in.Dst}}}
	var b strings.Builder
	require.NoError(t, NewTraceResult(in, outcomes).WriteJSON(&b))
	assert.Contains(t, b.String(), `"steps": []`)
	assert.Nil(t, outcomes[0].Steps, "the caller's outcomes are not written to")

	b.Reset()
	require.NoError(t, NewTraceResult(in, nil).WriteJSON(&b))
	assert.Contains(t, b.String(), `"outcomes": []`)
}

func TestTraceSaysThatItCouldNotWrite(t *testing.T) {
	assert.ErrorIs(t, NewTraceResult(inet.Input{}, nil).WriteJSON(closedWriter{}), os.ErrClosed)
}

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }
