package rules

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed is what "nft list ruleset" prints of the example.
func listed(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../examples/nftables.rules")
	require.NoError(t, err)
	return string(text)
}

// lineOf is the number of the line that has a text.
func lineOf(t *testing.T, in, text string) int {
	t.Helper()
	before, _, has := strings.Cut(in, text)
	require.True(t, has, text)
	return strings.Count(before, "\n") + 1
}

func TestAListingOfNftIsWalked(t *testing.T) {
	text := listed(t)
	tab := &Tab{}
	read := tab.Read(Paste{Text: text, Local: "203.0.113.2 192.168.1.1"})
	require.Empty(t, read.Problems)
	assert.Equal(t, Read{Problems: []Problem{}, Rules: 14, Chains: 5, Tables: 2}, read)
	for packet, want := range map[string]struct {
		says  string
		lines []string
	}{
		"tcp 198.51.100.10:40000 > 203.0.113.2:8080 in wan0": {"reject", []string{"vmap @ports", "reject with tcp reset"}},
		"tcp 198.51.100.10:40000 > 203.0.113.2:8443 in wan0": {"192.168.1.10:443", []string{"dnat to", "ct status dnat"}},
		"udp 198.51.100.10:40000 > 203.0.113.2:53 in wan0":   {"dropped", []string{"what nobody asked for"}},
		"tcp 192.0.2.9:40000 > 203.0.113.2:22 in wan0":       {"dropped", []string{"@banned drop"}},
	} {
		walked := tab.Walk(packet)
		require.Nil(t, walked.Problem, packet)
		assert.Contains(t, walked.Body, want.says, packet)
		var lines []int
		for _, line := range want.lines {
			lines = append(lines, lineOf(t, text, line))
		}
		assert.Subset(t, walked.Lines, lines, packet)
	}
}

// TestPacketsAreThoseThatAListingAsksFor: of a map that leads on, one for each element; of sets the addresses.
func TestPacketsAreThoseThatAListingAsksFor(t *testing.T) {
	tab := &Tab{}
	tab.Read(Paste{Text: listed(t), Local: "203.0.113.2"})
	named := tab.Named()
	for _, packet := range []string{
		"tcp 198.51.100.10:40000 > 203.0.113.2:22 in eth0",
		"tcp 10.0.0.1:40000 > 203.0.113.2:8080 in eth0",
		"tcp 192.0.2.0:40000 > 203.0.113.2:80 in eth0",
	} {
		assert.Contains(t, named.Packets, About{Packet: packet})
	}
	assert.Contains(t, named.Packets, About{Packet: "tcp 198.51.100.10:40000 > 203.0.113.80:8443 in wan0"})
	assert.Equal(t, []string{"eth0", "lan0", "lo", "wan0"}, named.Devices)
	assert.Contains(t, named.Ports, 8443)
	assert.Contains(t, named.Addresses, "192.168.1.10")
	tried := tryAll(tab, "")
	assert.Equal(t, 14, tried.Rules)
	assert.NotContains(t, tried.Unmet, lineOf(t, listed(t), "reject with tcp reset"))
}

// proxied is the beginning of what kube-proxy's nftables mode writes: services are elements of a map.
const proxied = `table ip kube-proxy {
	map service-ips {
		type ipv4_addr . inet_proto . inet_service : verdict
		elements = { 10.96.0.80 . tcp . 80 comment "shop/web:http" : goto service-ABCDEFGH-shop/web/tcp/http }
	}

	chain nat-prerouting {
		type nat hook prerouting priority dstnat; policy accept;
		jump services
	}

	chain services {
		ip daddr . meta l4proto . th dport vmap @service-ips
	}

	chain service-ABCDEFGH-shop/web/tcp/http {
		meta l4proto tcp dnat to 10.244.1.2:8080
	}
}
`

func TestElementsOfMapsArePackets(t *testing.T) {
	tab := &Tab{}
	read := tab.Read(Paste{Text: proxied})
	require.Empty(t, read.Problems)
	named := tab.Named()
	require.NotEmpty(t, named.Packets)
	assert.Equal(t, About{"tcp 198.51.100.10:40000 > 10.96.0.80:80 in eth0", "shop/web:http"}, named.Packets[0])
	assert.Equal(t, []string{"10.96.0.80", "10.244.1.2"}, named.Addresses)
	walked := tab.Walk(named.Packets[0].Packet)
	assert.Contains(t, walked.Sentence+walked.Body, "10.244.1.2:8080")
	assert.Equal(t, []int{9, 13, 17}, walked.Lines)
}

func TestBothLanguagesStandBesideEachOther(t *testing.T) {
	tab := &Tab{}
	text := "*filter\n:FORWARD ACCEPT [0:0]\n-A FORWARD -p tcp -m tcp --dport 81 -j DROP\nCOMMIT\n" + proxied
	read := tab.Read(Paste{Text: text})
	require.Empty(t, read.Problems)
	assert.Equal(t, 2, read.Tables)
	assert.Equal(t, []int{3, 13}, tab.Walk("tcp 10.0.0.1:1 > 10.0.0.2:81").Lines)
	assert.Equal(t, []int{13, 17, 21}, tab.Walk("tcp 10.0.0.1:1 > 10.96.0.80:80").Lines)
}

func TestMistakesInAListingHaveTheirPlaces(t *testing.T) {
	problems := (&Tab{}).Read(Paste{Text: strings.Replace(proxied, "ip daddr", "ip dadr", 1)}).Problems
	require.Len(t, problems, 1)
	assert.Equal(t, 13, problems[0].Line)
	assert.Equal(t, 6, problems[0].Column)
	problems = (&Tab{}).Read(Paste{Text: "*filter\nCOMMIT\n" + strings.Replace(proxied, "goto service-A", "goto service-B", 1)}).Problems
	require.Len(t, problems, 1, "a chain that is not there")
}

// json is the same in JSON, as nft -j prints it, in part. Its rules have no lines.
const json = `{"nftables": [{"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
{"table": {"family": "inet", "name": "fw", "handle": 1}},
{"chain": {"family": "inet", "table": "fw", "name": "f", "handle": 1, "type": "filter", "hook": "forward", "prio": 0, "policy": "accept"}},
{"rule": {"family": "inet", "table": "fw", "chain": "f", "handle": 2, "expr": [
{"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 81}}, {"drop": null}]}}]}`

func TestAListingInJSONIsWalked(t *testing.T) {
	tab := &Tab{}
	read := tab.Read(Paste{Text: json})
	require.Empty(t, read.Problems)
	assert.Equal(t, 1, read.Rules)
	walked := tab.Walk("tcp 10.0.0.1:1 > 10.0.0.2:81")
	assert.Contains(t, walked.Sentence, "dropped")
	assert.Contains(t, walked.Body, "tcp dport 81 drop")
	assert.Empty(t, walked.Lines)
	assert.Contains(t, (&Tab{}).Read(Paste{Text: strings.Replace(json, `"drop"`, `"dorp"`, 1)}).Problems[0].Message, "dorp")
}
