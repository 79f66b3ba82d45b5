package snapshot_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// TestLacksOwn: which rules need the node's own addresses.
func TestLacksOwn(t *testing.T) {
	nft := func(hook, rule string) string {
		return "table inet t {\n\tchain c {\n\t\ttype " + hook + "; policy accept;\n\t\t" + rule + "\n\t}\n}\n"
	}
	const postrouting, prerouting = "nat hook postrouting priority 100", "nat hook prerouting priority -100"
	for text, lacks := range map[string]bool{
		"*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp -j DROP\nCOMMIT\n":                                false,
		"*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m addrtype --dst-type LOCAL -j ACCEPT\nCOMMIT\n": true,
		"*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -j MASQUERADE\nCOMMIT\n":                        true,
		"*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -p tcp -j SNAT --to-source 192.0.2.1\nCOMMIT\n": false,
		nft(postrouting, "masquerade"):                        true,
		nft(postrouting, "ip saddr 10.0.0.1 accept"):          false,
		nft(prerouting, "fib daddr type local accept"):        true,
		nft(prerouting, `fib saddr oif missing drop`):         false,
		nft(prerouting, "tcp dport 80 dnat ip to 10.0.0.1:1"): false,
	} {
		for _, local := range [][]netip.Addr{nil, {netip.MustParseAddr("192.0.2.1")}} {
			saved, err := snapshot.ReadSaved("rules", strings.NewReader(text), snapshot.RulesOptions{Local: local})
			require.NoError(t, err, text)
			assert.Equal(t, lacks && local == nil, saved.LacksOwn(), text)
		}
	}
}
