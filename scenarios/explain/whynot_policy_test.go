package explain_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/inet"
	"github.com/chainwalk/chainwalk/scenarios/explain/names"
	"github.com/chainwalk/chainwalk/scenarios/explain/story"
	"github.com/chainwalk/chainwalk/scenarios/explain/whynot"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// TestPolicies runs testdata/policies: what is said of NetworkPolicies to a packet on a node. The commands rules and objects give what
// the node and the API have, packet walks packets and prints, for each, the sentence and what is said.
//
// The rules are written by hand, with the chains and comments that kube-router v2 (pkg/controllers/netpol) and Calico v3 (felix/rules) give
// theirs, and without the sets that they keep addresses in: a rule has the address.
func TestPolicies(t *testing.T) {
	datadriven.Walk(t, "whynot/testdata/policies", func(t *testing.T, path string) {
		var host *packetsim.Host
		var objects []manifest.Object
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "rules":
				host = policyNode(t, d.Input+"\n")
				return ""
			case "objects":
				read, err := manifest.ReadObjects("objects.yaml", strings.NewReader(d.Input))
				require.NoError(t, err)
				objects = read
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				in, err := inet.ParseInput(strings.TrimSpace(line))
				require.NoError(t, err)
				result, err := host.Trace(in, packetsim.WalkOptions{})
				require.NoError(t, err)
				book := names.New(objects)
				told := story.Of(result, story.Options{Names: book})
				said := whynot.Question{Objects: objects, Book: book, Host: host, In: in, Outcomes: result.Outcomes}.Policies()
				fmt.Fprintf(&out, "%s\n", told.Sentence)
				for _, u := range said.Unreached {
					fmt.Fprintf(&out, "  %s: %s\n", u.What, u.Why)
				}
				for _, note := range said.Notes {
					fmt.Fprintf(&out, "  note: %s\n", note)
				}
			}
			return out.String()
		})
	})
}

// policyNode is a node with two pods.
func policyNode(t *testing.T, rules string) *packetsim.Host {
	t.Helper()
	prefix := netip.MustParsePrefix
	kernel := fakekernel.New(fakekernel.Options{})
	require.NoError(t, kernel.Load(netfilter.IPv4, "rules", strings.NewReader(rules)))
	h, err := packetsim.NewHost(packetsim.HostConfig{
		Name: "worker",
		Devices: []packetsim.Device{
			{Name: "eth0", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("192.168.0.1/24")}}},
			{Name: "caliweb", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("10.244.1.1/32")}}},
			{Name: "caliclient", Up: true, Addresses: []packetsim.Address{{Prefix: prefix("10.244.1.1/32")}}},
		},
		Routes: []packetsim.Route{
			{Dst: prefix("10.244.1.2/32"), Dev: "caliweb", Scope: packetsim.ScopeHost},
			{Dst: prefix("10.244.1.3/32"), Dev: "caliclient", Scope: packetsim.ScopeHost},
			{Dst: prefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.0.254"), Dev: "eth0"},
		},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Netfilter: kernel.Namespace(),
	})
	require.NoError(t, err)
	return h
}
