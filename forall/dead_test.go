package forall_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
)

func TestDeadRules(t *testing.T) {
	text := "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:LOST - [0:0]\n:USED - [0:0]\n" +
		"-A FORWARD -d 10.0.0.0/9 -j DROP\n" +
		"-A FORWARD -d 10.128.0.0/9 -j ACCEPT\n" +
		"-A FORWARD -d 10.1.2.0/24 -p tcp -m tcp --dport 80 -j USED\n" + // covered by 1
		"-A FORWARD -d 10.0.0.0/8 -j ACCEPT\n" + // covered by 1 and 2 together
		"-A FORWARD -d 10.0.0.0/7 -j ACCEPT\n" + // alive: 11.0.0.0/8
		"-A FORWARD -i eth0 -j ACCEPT\n" +
		"-A FORWARD -s 192.0.2.0/24 -j DROP\n" + // alive: by other devices
		"-A FORWARD -j USED\n" +
		"-A FORWARD -j DROP\n" +
		"-A FORWARD -m mark --mark 0x1 -j ACCEPT\n" + // covered by 9, as by others
		"-A USED -p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE -j DROP\n" +
		"-A USED -p tcp -m tcp --dport 81 -j RETURN\n" +
		"-A USED -p tcp -m tcp --dport 80:82 -j ACCEPT\n" +
		"-A USED -p tcp -m tcp --dport 81:82 -j ACCEPT\n" + // covered by 3
		"-A USED -p udp -m udp --dport 0:1000 -j ACCEPT\n-A USED -p udp -m udp --dport 1001:65535 -j ACCEPT\n" +
		"-A USED -p udp -j DROP\n" + // alive: fragments
		"-A USED -p udp -m multiport --dports 5,7 -j DROP\n" + // covered by 5
		"-A LOST -j ACCEPT\nCOMMIT\n"
	assert.ElementsMatch(t, []string{"filter FORWARD 3 [1] covered", "filter FORWARD 4 [1 2] covered", "filter FORWARD 10 [9] covered",
		"filter USED 4 [3] covered", "filter USED 8 [5] covered", "filter LOST 1 [] unreached"}, deadIn(t, text))
}

// deadIn is the dead rules of a text, in short.
func deadIn(t *testing.T, text string) []string {
	t.Helper()
	dead, err := forall.Dead(saved(t, text))
	require.NoError(t, err)
	assert.Empty(t, dead.NotJudged)
	var found []string
	for _, d := range dead.Rules {
		found = append(found, fmt.Sprint(d.Table, " ", d.Chain, " ", d.Number, " ", d.CoveredBy, " ", d.Why))
	}
	return found
}

func TestDeadRulesBehindTheWayToTheirChain(t *testing.T) {
	text := "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:A - [0:0]\n:B - [0:0]\n:C - [0:0]\n" +
		"-A FORWARD -p tcp -j A\n-A FORWARD -p udp -j B\n-A FORWARD -j DROP\n-A FORWARD -p icmp -j C\n" +
		"-A A -p udp -j DROP\n" + // only tcp comes here
		"-A A -p tcp -m tcp --dport 80 -j B\n" +
		"-A B -p icmp -j DROP\n-A B -p tcp -m tcp --dport 80 -j DROP\n-A B -p tcp -m tcp --dport 81 -j DROP\n" +
		"-A C -j DROP\n" + // the rule that leads here is dead
		"COMMIT\n"
	assert.ElementsMatch(t, []string{"filter FORWARD 4 [3] covered", "filter A 1 [] elsewhere", "filter B 1 [] elsewhere",
		"filter B 3 [] elsewhere", "filter C 1 [] unreached"}, deadIn(t, text))
}

func TestDeadRulesOfNftables(t *testing.T) {
	found := deadIn(t, `table inet fw {
	set web { type ipv4_addr . inet_service; elements = { 10.0.0.1 . 80, 10.0.0.2 . 80 } }
	set nets { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.168.0.0/16 } }
	map ways { type inet_service : verdict; elements = { 80 : jump web, 443 : drop } }
	chain forward {
		type filter hook forward priority 0; policy accept;
		ip saddr @nets drop
		ip saddr 10.1.0.0/16 accept
		ip saddr 172.16.0.0/12 accept
		ip daddr . tcp dport @web accept
		ip daddr 10.0.0.1 tcp dport 80 drop
		ip daddr 10.0.0.1 tcp dport 81 drop
		tcp dport vmap @ways
		ip saddr != 10.0.0.0/8 ip saddr 10.0.0.0/9 drop
		meta mark 1 drop
		meta mark 1 accept
		tcp dport 1-1000 drop
		tcp dport { 5, 7 } limit rate 5/second accept
		tcp dport 1000-1001 drop
		ip6 saddr fd00::/8 drop
		meta nfproto ipv4 accept
		ip protocol icmp drop
		ip6 nexthdr icmpv6 drop
		accept
		drop
	}
	chain web { ip daddr 10.0.0.1 accept; ip protocol udp drop; }
	chain lost { accept; }
}
`)
	assert.ElementsMatch(t, []string{"inet fw forward 2 [1] covered", "inet fw forward 5 [4] covered", "inet fw forward 8 [] contradictory",
		"inet fw forward 12 [11] covered", "inet fw forward 16 [15] covered",
		"inet fw forward 19 [15 18] covered", "inet fw web 2 [] elsewhere", "inet fw lost 1 [] unreached"}, found)
}

func TestNotJudgedTables(t *testing.T) {
	text := "table ip a {\n\tchain c {\n\t\ttype filter hook forward priority 0; policy accept;\n" +
		"\t\ttcp dport 81 tcp dport set 80\n\t}\n}\n"
	dead, err := forall.Dead(saved(t, text))
	require.NoError(t, err)
	assert.Empty(t, dead.Rules)
	require.Len(t, dead.NotJudged, 1)
	assert.Contains(t, dead.NotJudged[0], `table ip a: the rule "tcp dport 81 tcp dport set 80" of chain c changes the packet`)
}
