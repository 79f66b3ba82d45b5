//go:build linux

package snapshot

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/internal/kerneltest"
	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/packetsim/inet"
)

// TestKernelSaysWhatNativeChainsMayDo lets nft make the chain c of the type filter, and asks the kernel what it has.
func TestKernelSaysWhatNativeChainsMayDo(t *testing.T) {
	kerneltest.Need(t, "nft")
	for _, row := range []struct {
		name     string
		commands []string
		may      []NFEffect
		// only is what the packets that this is about look like; none if any packet may be such.
		only []NFMatch
	}{
		{"no rule", nil, []NFEffect{EffectPass}, nil},
		{"a policy", []string{"chain inet fw c { policy drop; }"}, []NFEffect{EffectDrop}, nil},
		{"what counts, logs and accepts",
			[]string{"rule inet fw c tcp dport 80 counter log", "rule inet fw c ct state new limit rate 5/second accept"},
			[]NFEffect{EffectPass}, nil},
		{"what stops", []string{"rule inet fw c tcp dport 80 drop", "rule inet fw c udp dport 53 reject"},
			[]NFEffect{EffectDrop, EffectReject}, []NFMatch{{Protocol: inet.TCP, DstPort: 80}, {Protocol: inet.UDP, DstPort: 53}}},
		{"a mark", []string{"rule inet fw c meta mark set 5"}, []NFEffect{EffectChange}, nil},
		{"a mark of the connection", []string{"rule inet fw c ct mark set 5"}, []NFEffect{EffectChange}, nil},
		{"a mark that is asked for", []string{"rule inet fw c meta mark 5 ct mark 5 counter"}, []NFEffect{EffectPass}, nil},
		{"tracing", []string{"rule inet fw c meta nftrace set 1"}, []NFEffect{EffectPass}, nil},
		{"the greatest segment", []string{"rule inet fw c tcp flags syn tcp option maxseg size set 1400"}, []NFEffect{EffectPass}, nil},
		{"a header that is written", []string{"rule inet fw c ip ttl set 5"}, []NFEffect{EffectChange}, []NFMatch{{Family: netfilter.IPv4}}},
		{"a jump",
			[]string{"chain inet fw far", "rule inet fw far drop", "chain inet fw near", "rule inet fw near goto far", "rule inet fw c jump near"},
			[]NFEffect{EffectDrop}, nil},
		{"a chain that nothing jumps to", []string{"chain inet fw far", "rule inet fw far drop"}, []NFEffect{EffectPass}, nil},
		{"a map of verdicts without a name", []string{"rule inet fw c tcp dport vmap { 22 : accept, 80-90 : drop }"}, []NFEffect{EffectDrop},
			[]NFMatch{{Protocol: inet.TCP}}},
		{"a map that jumps", []string{"chain inet fw far", "rule inet fw far reject", "map inet fw m { type inet_service : verdict; }",
			"element inet fw m { 80 : jump far }", "rule inet fw c tcp dport vmap @m"}, []NFEffect{EffectReject},
			[]NFMatch{{Protocol: inet.TCP}}},
		{"a map that accepts", []string{"rule inet fw c tcp dport vmap { 22 : accept, 80 : return }"}, []NFEffect{EffectPass}, nil},
		{"a set", []string{"rule inet fw c ip saddr { 10.0.0.0/8 } counter accept"}, []NFEffect{EffectPass}, nil},
		{"addresses, ports and a device", []string{`rule inet fw c iifname "eth0" ip saddr 10.0.0.0/8 ip daddr 10.9.0.1 udp sport 53 drop`},
			[]NFEffect{EffectDrop}, []NFMatch{{Family: netfilter.IPv4, Protocol: inet.UDP, Src: netip.MustParsePrefix("10.0.0.0/8"),
				Dst: netip.MustParsePrefix("10.9.0.1/32"), SrcPort: 53, In: "eth0"}}},
		{"what is asked the other way round", []string{`rule inet fw c iifname != "eth0" ip6 saddr != fd00::1 tcp dport != 80 drop`},
			[]NFEffect{EffectDrop}, []NFMatch{{Family: netfilter.IPv6, Protocol: inet.TCP}}},
		{"a policy, and a rule", []string{"chain inet fw c { policy drop; }", "rule inet fw c tcp dport 80 reject"},
			[]NFEffect{EffectDrop, EffectReject}, nil},
		{"a chain of addresses", []string{"chain inet fw d { type nat hook prerouting priority -100; }",
			"rule inet fw d tcp dport 80 dnat ip to 10.0.0.1"}, []NFEffect{EffectPass}, nil},
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
				assert.Equal(t, NFChain{Name: "c", Hook: "forward", Type: "filter", May: row.may, Only: row.only}, s.NFTables[0].Chains[0])
				for _, c := range s.NFTables[0].Chains[1:] {
					assert.Equal(t, "nat", c.Type)
					assert.Equal(t, []NFEffect{EffectTranslate}, c.May)
				}
			})
		})
	}
}
