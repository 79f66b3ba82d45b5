//go:build linux

package kind

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/kindtest/onkind/cluster"
	"github.com/chainwalk/chainwalk/kindtest/probe"
)

// inNamespace runs a node's programs in a namespace of the test.
type inNamespace struct {
	relay
	*kerneltest.Namespace
}

func (n inNamespace) Exec(_ context.Context, c probe.Command) (probe.Exited, error) {
	r := n.Run(c.Argv, c.Stdin)
	return probe.Exited{Status: r.Status, Stdout: r.Stdout, Stderr: r.Stderr}, nil
}

// affinityRules remember who sends to port 9, as kube-proxy's mode nftables does: both families, a minute and a day.
const affinityRules = `
table ip kube-proxy {
	set affinity-AAAAAAAA-ns/web/udp/__10.0.0.1/80 { type ipv4_addr; flags dynamic,timeout; timeout 60s; }
	set cluster-ips { type ipv4_addr; elements = { 10.0.0.9 } }
	chain output {
		type filter hook output priority 0
		udp dport 9 update @affinity-AAAAAAAA-ns/web/udp/__10.0.0.1/80 { ip saddr }
	}
}
table ip6 kube-proxy {
	set affinity-BBBBBBBB-ns/web/udp/__fd00..1/80 { type ipv6_addr; flags dynamic,timeout; timeout 26h; }
	chain output {
		type filter hook output priority 0
		udp dport 9 update @affinity-BBBBBBBB-ns/web/udp/__fd00..1/80 { ip6 saddr }
	}
}
table ip other {
	set affinity-of-others { type ipv4_addr; flags timeout; timeout 60s; elements = { 127.0.0.1 } }
}
`

// recentRules do so with the match recent. Without a rule that needs to know connections a kernel may know none, and not look into nat.
const recentRules = `*nat
:KUBE-SEP-A - [0:0]
-A POSTROUTING -p sctp -j MASQUERADE
-A OUTPUT -p udp --dport 9 -m recent --rcheck --seconds 60 --reap --name KUBE-SEP-A --mask MASK --rsource -j KUBE-SEP-A
-A OUTPUT -p udp --dport 9 -j KUBE-SEP-A
-A KUBE-SEP-A -m recent --set --name KUBE-SEP-A --mask MASK --rsource
COMMIT
`

// ask sends a datagram to loopback, which nobody answers.
func ask(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort(address, "9"))
	require.NoError(t, err)
	defer conn.Close()             //nolint:errcheck // it is a datagram's
	_, _ = conn.Write([]byte("?")) // an earlier one may have been refused
}

// TestKernelForgetsClients has the real kernel remember clients by both kinds of lists, and forget them.
func TestKernelForgetsClients(t *testing.T) {
	for mode, row := range map[string]struct {
		tools    []string
		rules    string
		families []string // of the addresses that are asked
		lasts    map[string]time.Duration
	}{
		modeNFTables: {[]string{"nft"}, affinityRules, []string{"127.0.0.1", "::1"}, map[string]time.Duration{
			"affinity-AAAAAAAA-ns/web/udp/__10.0.0.1/80": time.Minute, "affinity-BBBBBBBB-ns/web/udp/__fd00..1/80": 26 * time.Hour,
		}},
		"iptables": {[]string{"iptables-nft", "ip6tables-nft"}, recentRules, []string{"127.0.0.1"},
			map[string]time.Duration{"KUBE-SEP-A": time.Minute}},
	} {
		t.Run(mode, func(t *testing.T) {
			ns := kerneltest.Enter(t, row.tools...)
			b := &Backend{relays: map[string]relay{"node": inNamespace{Namespace: ns}}}
			b.facts.Nodes, b.facts.Mode = []cluster.Node{{Name: "node"}}, mode
			m := newMemory(b)
			ctx, nodes := t.Context(), []string{"node"}
			read := func() map[remembered]moment {
				t.Helper()
				entries, err := m.entries(ctx, nodes)
				require.NoError(t, err)
				return entries
			}
			assert.Empty(t, read(), "a node without lists")
			require.NoError(t, m.forget(ctx, nodes, nil))

			if mode == modeNFTables {
				ns.Feed(row.rules, "nft", "-f", "-")
			} else {
				ns.Feed(strings.ReplaceAll(row.rules, "MASK", "255.255.255.255"), "iptables-nft-restore")
			}
			assert.Empty(t, read())
			for _, address := range row.families {
				ask(t, address)
			}
			first := read()
			require.Len(t, first, len(row.families))
			for entry, at := range read() {
				assert.True(t, at.is(first[entry]), "what was not renewed is as it was: %v, %v", at, first[entry])
			}
			for renewed := 0; renewed != 1; { // as soon as the kernel's clock has moved on
				require.NoError(t, ctx.Err())
				ask(t, row.families[0])
				renewed = 0
				for entry, at := range read() {
					if !at.is(first[entry]) {
						renewed++
					}
				}
			}

			require.NoError(t, m.forget(ctx, nodes, first))
			assert.Len(t, read(), len(first), "what was there before stays")
			require.NoError(t, m.note(ctx, nodes, nil))
			require.Len(t, m.seen, len(row.families))
			require.NoError(t, m.advance(ctx, time.Minute-time.Second))
			assert.Len(t, read(), len(first), "nothing is too old")
			require.NoError(t, m.advance(ctx, time.Second))
			assert.Len(t, read(), len(first)-1, "what a minute is too old for has gone")
			require.NoError(t, m.forget(ctx, nodes, nil))
			assert.Empty(t, read())

			lasts, err := m.lists().lasts(ctx, b.relays["node"])
			require.NoError(t, err)
			assert.Equal(t, row.lasts, lasts)
			require.NoError(t, m.lists().remove(ctx, b.relays["node"], []listed{{sorted(row.lasts)[0], "127.0.0.1"}}), "what has ended meanwhile")
		})
	}
}
