//go:build linux

package snapshot

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
)

// TestKernelSaysWhatNativeChainsMayDo lets nft make the chain c of the type filter, and asks the kernel what it has.
func TestKernelSaysWhatNativeChainsMayDo(t *testing.T) {
	kerneltest.Need(t, "nft")
	for _, row := range []struct {
		name     string
		commands []string
		may      []NFEffect
	}{
		{"no rule", nil, []NFEffect{EffectPass}},
		{"a policy", []string{"chain inet fw c { policy drop; }"}, []NFEffect{EffectDrop}},
		{"what counts, logs and accepts",
			[]string{"rule inet fw c tcp dport 80 counter log", "rule inet fw c ct state new limit rate 5/second accept"},
			[]NFEffect{EffectPass}},
		{"what stops", []string{"rule inet fw c tcp dport 80 drop", "rule inet fw c udp dport 53 reject"},
			[]NFEffect{EffectDrop, EffectReject}},
		{"a mark", []string{"rule inet fw c meta mark set 5"}, []NFEffect{EffectChange}},
		{"a mark of the connection", []string{"rule inet fw c ct mark set 5"}, []NFEffect{EffectChange}},
		{"a mark that is asked for", []string{"rule inet fw c meta mark 5 ct mark 5 counter"}, []NFEffect{EffectPass}},
		{"tracing", []string{"rule inet fw c meta nftrace set 1"}, []NFEffect{EffectPass}},
		{"the greatest segment", []string{"rule inet fw c tcp flags syn tcp option maxseg size set 1400"}, []NFEffect{EffectPass}},
		{"a header that is written", []string{"rule inet fw c ip ttl set 5"}, []NFEffect{EffectChange}},
		{"a jump",
			[]string{"chain inet fw far", "rule inet fw far drop", "chain inet fw near", "rule inet fw near goto far", "rule inet fw c jump near"},
			[]NFEffect{EffectDrop}},
		{"a chain that nothing jumps to", []string{"chain inet fw far", "rule inet fw far drop"}, []NFEffect{EffectPass}},
		{"a map of verdicts without a name", []string{"rule inet fw c tcp dport vmap { 22 : accept, 80-90 : drop }"}, []NFEffect{EffectDrop}},
		{"a map that jumps", []string{"chain inet fw far", "rule inet fw far reject", "map inet fw m { type inet_service : verdict; }",
			"element inet fw m { 80 : jump far }", "rule inet fw c tcp dport vmap @m"}, []NFEffect{EffectReject}},
		{"a map that accepts", []string{"rule inet fw c tcp dport vmap { 22 : accept, 80 : return }"}, []NFEffect{EffectPass}},
		{"a set", []string{"rule inet fw c ip saddr { 10.0.0.0/8 } counter accept"}, []NFEffect{EffectPass}},
		{"a chain of addresses", []string{"chain inet fw d { type nat hook prerouting priority -100; }",
			"rule inet fw d tcp dport 80 dnat ip to 10.0.0.1"}, []NFEffect{EffectPass}},
	} {
		t.Run(row.name, func(t *testing.T) {
			node := kerneltest.New(t)
			node.Must("nft add table inet fw", "nft add chain inet fw c { type filter hook forward priority 0; }")
			for _, command := range row.commands {
				node.Feed("add "+command+"\n", "nft", "-f", "-")
			}
			node.Do(func() {
				s, err := Take(t.Context(), exec.New())
				require.NoError(t, err)
				require.NotEmpty(t, s.NFTables)
				assert.Equal(t, NFChain{Name: "c", Hook: "forward", Type: "filter", May: row.may}, s.NFTables[0].Chains[0])
				for _, c := range s.NFTables[0].Chains[1:] {
					assert.Equal(t, "nat", c.Type)
					assert.Equal(t, []NFEffect{EffectTranslate}, c.May)
				}
			})
		})
	}
}
