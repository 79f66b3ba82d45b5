package packetsim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// mixedHost is a node with both dialects' tools, on which the commands ran one after the other.
func mixedHost(t *testing.T, commands ...string) *Host {
	legacy := fakeipt.New(fakeipt.Options{})
	nft := fakeipt.New(fakeipt.Options{Dialect: netfilter.NFT, Namespace: legacy.Namespace()})
	for _, command := range commands {
		k, argv := legacy, strings.Fields(command)
		if strings.Contains(argv[0], "-nft") {
			k = nft
		}
		var stderr strings.Builder
		require.Zero(t, k.Run(argv, nil, &stderr, &stderr), "%s: %s", command, stderr.String())
	}
	h, err := NewHost(HostConfig{
		Name: "node", Devices: testDevices(), Routes: testRoutes(), Netfilter: legacy.Namespace(),
		Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
	})
	require.NoError(t, err)
	return h
}

// TestBothBackends walks a packet, tcp 10.244.0.11:40000 > 10.244.0.12:80, through a node that has both.
func TestBothBackends(t *testing.T) {
	for _, row := range []struct {
		name     string
		commands []string
		verdict  Verdict
		steps    string // the rules that it meets
		dnat     string
	}{
		{"what was registered last goes first",
			[]string{"iptables-legacy -A FORWARD -p tcp -j DROP", "iptables-nft -A FORWARD -p tcp -j DROP"},
			Drop, "nft filter:FORWARD:rule:1", ""},
		{"and the other way round",
			[]string{"iptables-nft -A FORWARD -p tcp -j DROP", "iptables-legacy -A FORWARD -p tcp -j DROP"},
			Drop, "legacy filter:FORWARD:rule:1", ""},
		{"a table of legacy is registered with all of its chains",
			[]string{"iptables-legacy -L", "iptables-nft -A FORWARD -p tcp -j DROP", "iptables-legacy -A FORWARD -p tcp -j DROP"},
			Drop, "nft filter:FORWARD:rule:1", ""},
		{"one accepts, the other drops",
			[]string{"iptables-nft -A FORWARD -p tcp -j DROP", "iptables-legacy -A FORWARD -p tcp -j ACCEPT"},
			Drop, "legacy filter:FORWARD:rule:1, nft filter:FORWARD:rule:1", ""},
		{"the first that translates wins",
			[]string{"iptables-nft -t nat -A PREROUTING -p tcp -j DNAT --to 10.244.0.13:81",
				"iptables-legacy -t nat -A PREROUTING -p tcp -j DNAT --to 10.244.0.13:82"},
			Accept, "legacy nat:PREROUTING:rule:1", "10.244.0.13:82"},
		{"accepting translates nothing",
			[]string{"iptables-nft -t nat -A PREROUTING -p tcp -j DNAT --to 10.244.0.13:81",
				"iptables-legacy -t nat -A PREROUTING -p tcp -j ACCEPT"},
			Accept, "legacy nat:PREROUTING:rule:1, nft nat:PREROUTING:rule:1", "10.244.0.13:81"},
		{"rules of one see what the other has translated and marked, and connections that only the other asks for",
			[]string{"iptables-legacy -t nat -A PREROUTING -p tcp -j DNAT --to 10.244.0.13:81",
				"iptables-legacy -t mangle -A PREROUTING -j MARK --set-mark 5", "iptables-nft -A FORWARD -p tcp --dport 81 -m mark --mark 5 -j DROP"},
			Drop, "legacy mangle:PREROUTING:rule:1, legacy nat:PREROUTING:rule:1, nft filter:FORWARD:rule:1", "10.244.0.13:81"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.244.0.12:80 in veth1")
			require.NoError(t, err)
			outcomes, err := mixedHost(t, row.commands...).Walk(in)
			require.NoError(t, err)
			require.Len(t, outcomes, 1)
			var steps []string
			for _, s := range outcomes[0].Steps {
				if s.Rule != nil {
					steps = append(steps, string(s.Dialect)+" "+s.String())
				}
			}
			assert.Equal(t, row.verdict, outcomes[0].Verdict)
			assert.Equal(t, row.steps, strings.Join(steps, ", "))
			assert.Equal(t, row.dnat, outcomes[0].DNAT)
		})
	}
}

// TestBackendIsToldOfMixedNodesOnly: where one of the two has no tables, steps say nothing of it.
func TestBackendIsToldOfMixedNodesOnly(t *testing.T) {
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.244.0.12:80 in veth1")
	require.NoError(t, err)
	text := func(commands ...string) string {
		outcomes, err := mixedHost(t, commands...).Walk(in)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, NewTraceResult(in, outcomes).WriteJSON(&b))
		return b.String()
	}
	one := text("iptables-nft -A FORWARD -p tcp -j DROP")
	assert.Contains(t, one, `"chain": "FORWARD"`)
	assert.NotContains(t, one, "backend")
	both := text("iptables-nft -A FORWARD -p tcp -j DROP", "iptables-legacy -A INPUT -p tcp")
	assert.Contains(t, both, `"backend": "nft"`)
	assert.Contains(t, both, `"backend": "legacy"`)
}

// TestBothBackendsShareLists: a list of -m recent that rules of one have filled is what those of the other ask.
func TestBothBackendsShareLists(t *testing.T) {
	h := mixedHost(t, "iptables-nft -A FORWARD -m recent --name L --rcheck --rsource -j DROP",
		"iptables-legacy -A FORWARD -m recent --name L --set --rsource")
	in, err := inet.ParseInput("tcp 10.244.0.11:40000 > 10.244.0.12:80 in veth1")
	require.NoError(t, err)
	outcomes, err := h.Walk(in)
	require.NoError(t, err)
	assert.Equal(t, Drop, outcomes[0].Verdict)
}
