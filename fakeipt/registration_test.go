package fakeipt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
)

// TestRegistered: which of a legacy and an nft chain FORWARD the kernel was given last, as the real kernel was seen to run it first.
func TestRegistered(t *testing.T) {
	const forward = "*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n"
	for _, row := range []struct {
		name string
		runs []string // a tool that ends in "<" reads the table
		last netfilter.Dialect
	}{
		{"nft, then legacy", []string{"iptables-nft -A FORWARD", "iptables-legacy -A FORWARD"}, netfilter.Legacy},
		{"legacy, then nft", []string{"iptables-legacy -A FORWARD", "iptables-nft -A FORWARD"}, netfilter.NFT},
		{"looking at a table makes legacy register it", []string{"iptables-nft -A FORWARD", "iptables-legacy -L"}, netfilter.Legacy},
		{"a restore that keeps the table", []string{"iptables-nft -A FORWARD", "iptables-legacy -L", "iptables-nft-restore -n <"},
			netfilter.Legacy},
		{"a restore that flushes the table", []string{"iptables-nft -A FORWARD", "iptables-legacy -L", "iptables-nft-restore <"}, netfilter.NFT},
		{"one of legacy keeps it", []string{"iptables-legacy -L", "iptables-nft -A FORWARD", "iptables-legacy-restore <"}, netfilter.NFT},
		{"flushing rules", []string{"iptables-nft -A FORWARD", "iptables-legacy -L", "iptables-nft -F", "iptables-nft -A FORWARD"},
			netfilter.Legacy},
		{"another chain of the table", []string{"iptables-nft -A FORWARD", "iptables-legacy -L", "iptables-nft -A INPUT"}, netfilter.Legacy},
	} {
		t.Run(row.name, func(t *testing.T) {
			legacy := New(Options{})
			nft := New(Options{Dialect: netfilter.NFT, Namespace: legacy.Namespace()})
			for _, run := range row.runs {
				k := legacy
				if strings.Contains(run, "-nft") {
					k = nft
				}
				argv, input := strings.Fields(run), ""
				if argv[len(argv)-1] == "<" {
					argv, input = argv[:len(argv)-1], forward
				}
				var out strings.Builder
				require.Zero(t, k.Run(argv, strings.NewReader(input), &out, &out), out.String())
			}
			at := func(k *Kernel) uint64 { return k.Ruleset(netfilter.IPv4).Table("filter").Registered("FORWARD") }
			require.NotZero(t, at(legacy))
			require.NotZero(t, at(nft))
			assert.Equal(t, row.last == netfilter.NFT, at(nft) > at(legacy))
			other := map[*Kernel]*Kernel{legacy: nft, nft: legacy}
			for k, beside := range other {
				require.NoError(t, k.Register(netfilter.IPv4, "filter", "FORWARD"))
				assert.Greater(t, at(k), at(beside))
				assert.Equal(t, []*Kernel{beside}, k.others())
			}
			assert.Error(t, nft.Register(netfilter.IPv4, "filter", "OUTPUT"), "a chain that is not made")
			assert.Error(t, nft.Register(netfilter.IPv4, "nat", "OUTPUT"))
			assert.Zero(t, nft.Ruleset(netfilter.IPv4).Table("filter").Registered("NOTHING"))
		})
	}
}
