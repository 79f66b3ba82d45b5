package forall_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// TestWhatWalksFound has rules whose fates were worked out wrongly once, each found by walks through random rulesets or scenarios.
func TestWhatWalksFound(t *testing.T) {
	const heads = ":PREROUTING ACCEPT [0:0]\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n"
	for name, rules := range map[string]string{
		"a destination that no element of a concatenation with ranges has": `table inet t {
	set nets { type ipv4_addr . inet_service; flags interval; elements = { 10.78.0.0/16 . 80 } }
	chain c {
		type filter hook prerouting priority -310; policy accept;
		ip daddr . tcp dport != @nets reject with icmpx admin-prohibited
	}
}
`,
		"a register that an expression fills of which nothing is known": `table ip t {
	chain c {
		type nat hook postrouting priority 100; policy accept;
		ip daddr != 10.78.2.1 rt classid 0 meta l4proto tcp snat to 172.18.0.3
	}
}
`,
		"a look-up of destinations where there are none": `table ip t {
	map none { type ipv4_addr . inet_proto . inet_service : verdict; }
	chain c {
		type filter hook forward priority 0; policy accept;
		ct state new jump d
	}
	chain d { ip daddr . meta l4proto . th dport vmap @none; }
}
`,
		"the status of a connection whose packet is back by lo": "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
			"-A INPUT -m conntrack --ctstatus SEEN_REPLY,CONFIRMED -j MARK --set-xmark 0x1\nCOMMIT\n",
		"the first destination, behind a chain that translates and asks for none": "*nat\n" +
			strings.Replace(heads, ":FORWARD ACCEPT [0:0]\n", "", 1) + "-A PREROUTING -j DNAT --to-destination 10.78.1.2\n" +
			"-A POSTROUTING -m conntrack --ctorigdst 10.78.0.0/16 -j SNAT --to-source 10.78.2.2\n" +
			"-A POSTROUTING -j SNAT --to-source 10.78.2.3\nCOMMIT\n",
		"a rule that counts, asked at two hooks": "*mangle\n" + heads + ":C1 - [0:0]\n-A OUTPUT -j C1\n-A POSTROUTING -j C1\n" +
			"-A C1 -p icmp -m statistic --mode nth --every 2 --packet 0 -j MARK --set-xmark 0x2/0x0\nCOMMIT\n",
		"a list that the packet itself is in": "*mangle\n" + heads + "-A OUTPUT -m recent --set --name seen --rsource\n" +
			"-A POSTROUTING -m recent --rcheck --name seen --rsource -j MARK --set-xmark 0x1\nCOMMIT\n",
	} {
		t.Run(name, func(t *testing.T) {
			h, err := snapshot.HostOfSave("rules", strings.NewReader(rules), snapshot.RulesOptions{
				Devices: []string{"veth1"}, Local: []netip.Addr{netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("fd00::3")},
			})
			require.NoError(t, err)
			agrees(t, h, 1500)
		})
	}
}
