package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

func TestAskOfARuleset(t *testing.T) {
	rules := write(t, "rules", "*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n"+
		"-A PREROUTING -d 192.0.2.9/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 192.0.2.20:8080\n"+
		"-A POSTROUTING -s 10.0.0.0/8 -j MASQUERADE\nCOMMIT\n"+webFirewall+
		"*mangle\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -s 203.0.113.0/24 -j DROP\nCOMMIT\n")
	for question, row := range map[string]struct {
		status int
		out    []string
		not    string
	}{
		"what can reach 192.0.2.20:80": {exitHeld, []string{"can reach 192.0.2.20:80", "> 192.0.2.20:80 in eth0"}, "192.0.2.9"},
		// the filter lets port 80 alone pass, and sees port 8080 of what was translated
		"What can reach 192.0.2.20:8080 from 10.1.1.1?": {exitNotHeld, []string{"no packets can reach 192.0.2.20:8080"}, ""},
		"what can reach 192.0.2.20:8080 from 192.0.2.1": {exitHeld, []string{"192.0.2.20:8080 local"}, "eth0\n  fate"},
		"what is translated": {exitNotHeld, []string{
			"not looked at: multicast and broadcast, IPv6 (no rules were given); no packets are translated",
		}, ""},
		"what is dropped from outside":                  {exitHeld, []string{"filter:FORWARD:policy:3", "by     no rule"}, " local"},
		"what is dropped from 203.0.113.7":              {exitHeld, []string{"mangle:PREROUTING:rule:1"}, "FORWARD"},
		"what is dropped, and by what":                  {exitHeld, []string{"filter:FORWARD:policy:3"}, ""},
		"who is masqueraded":                            {exitHeld, []string{"nat:POSTROUTING:rule:1", "tcp"}, ""},
		"what can reach fd00::1":                        {exitUsage, []string{"cannot say: not looked at: IPv6 (no rules were given)"}, ""},
		"what can reach 192.0.2.20:53":                  {exitHeld, []string{"udp 10."}, "icmp"}, // a port is of protocols that have ports
		"who is masqueraded from 11.0.0.1":              {exitNotHeld, []string{"no packets are masqueraded"}, ""},
		"what is rejected from 0.0.0.0/0":               {exitNotHeld, []string{"no packets are rejected"}, ""},
		"fate of udp to 192.0.2.20:53":                  {exitHeld, []string{"accept out of eth0", "drop"}, "tcp"},
		"what is forwarded icmp by eth0 from 0.0.0.0/0": {exitNotHeld, []string{"no packets are forwarded"}, ""},
		"what is dropped tcp to 10.0.0.0/8":             {exitHeld, []string{"to 10.0.0.0"}, "udp 1"},
	} {
		t.Run(question, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"ask", rules, "--local", "192.0.2.1"}, strings.Fields(question)...)...)
			assert.Equal(t, row.status, status, out+errOut)
			for _, text := range row.out {
				assert.Contains(t, out, text)
			}
			if row.not != "" {
				assert.NotContains(t, out, row.not)
			}
		})
	}
}

func TestAskNamesObjects(t *testing.T) {
	race.OneGoroutine(t)
	ask := func(question string) (int, string, string) {
		return call("", append([]string{"ask", filepath.Join(clusterDump, "legacy", "demo-worker.yaml"),
			"-f", filepath.Join(clusterDump, "objects.yaml"), "-o", "json"}, strings.Fields(question)...)...)
	}
	status, out, errOut := ask("fate of tcp to svc/shop/web:http from pod/shop/echo-77c9b5bcb7-d6rwv")
	require.Equal(t, exitHeld, status, errOut)
	var got allpackets.Answers
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	found := false
	for _, k := range got.Kinds {
		if len(k.Fates) == 3 { // an endpoint each
			found = true
			assert.InDelta(t, 1, k.Probability, 1e-9)
			assert.Contains(t, k.Ends, "to service shop/web:http")
		}
	}
	assert.True(t, found, out)

	status, out, errOut = ask("what is rejected to svc/shop/empty from pod/shop/echo-77c9b5bcb7-d6rwv")
	require.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "has no endpoints")
}

// TestAskFollowsReplies tells of a firewall that lets no answers in.
func TestAskFollowsReplies(t *testing.T) {
	rules := write(t, "rules", "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n"+
		"-A INPUT -i eth0 -p tcp -m tcp --dport 22 -j ACCEPT\n-A INPUT -i eth0 -j DROP\nCOMMIT\n")
	ask := func(question string, flags ...string) (int, string) {
		status, out, errOut := call("", append(append([]string{"ask", rules, "--local", "192.0.2.10"}, flags...), strings.Fields(question)...)...)
		require.Empty(t, errOut)
		return status, out
	}
	status, out := ask("what is unanswered tcp to 198.51.100.7")
	assert.Equal(t, exitHeld, status)
	assert.Contains(t, out, "packets without a reply through this node")
	assert.Contains(t, out, "is not heard: of 198.51.100.7: drop\n    by     filter:INPUT:rule:2 -A INPUT -i eth0 -j DROP")
	status, out = ask("what is answered udp to 198.51.100.7 from 192.0.2.10")
	assert.Equal(t, exitNotHeld, status, out)
	_, out = ask("fate of tcp to 192.0.2.10:22 by eth0 from 198.51.100.7", "--replies")
	assert.Contains(t, out, "  reply    comes back from 192.0.2.10:22\n")
	_, out = ask("fate of tcp to 192.0.2.10:22 by eth0 from 198.51.100.7", "--replies", "-o", "json")
	var got allpackets.Answers
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got.Kinds, 1)
	assert.Equal(t, []allpackets.Reply{{Probability: 1, Heard: true, From: "192.0.2.10:22",
		Packet: "tcp 192.0.2.10:22 > 198.51.100.7:40000 local flags SYN,ACK"}}, got.Kinds[0].Replies)
	assert.True(t, got.Kinds[0].Fates[0].Fate.Back.Heard)
}

// TestAskFollowsPacketsThroughNodes asks two nodes of the recorded cluster.
func TestAskFollowsPacketsThroughNodes(t *testing.T) {
	race.OneGoroutine(t)
	flags := []string{"ask", "--node", filepath.Join(clusterDump, "legacy", "demo-worker.yaml"), "--node",
		filepath.Join(clusterDump, "legacy", "demo-worker2.yaml"), "-f", filepath.Join(clusterDump, "objects.yaml")}
	ask := func(question string) (int, string, string) {
		return call("", append(slices.Clone(flags), strings.Fields(question)...)...)
	}
	status, out, errOut := ask("what can reach 10.244.1.2:8080 tcp to svc/shop/web by vethb246c797")
	require.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "not looked at: what routers between the nodes and the pods themselves do, packets that come to demo-worker2 (")
	assert.Contains(t, out, "that come to demo-worker\n")
	assert.Contains(t, out, "accept out of vethb4a7c673, to 10.244.1.2 port 8080 on demo-worker > demo-worker2\n")
	assert.Contains(t, out, "by     demo-worker2: ")
	for question, says := range map[string]string{
		"what is unanswered":                 "replies are followed on one node only",
		"what is dropped by nothing":         "nothing: the host has no such device",
		"what is dropped --replies":          "replies are followed on one node only",
		"fate of tcp --node no-such":         "no such file",
		"what is dropped --node " + flags[2]: "two snapshots are of demo-worker: give one of each node",
	} {
		status, out, errOut := ask(question)
		assert.Equal(t, exitUsage, status, out)
		assert.Contains(t, errOut, says)
	}
}

// TestAskRefuses says which word of a question is wrong.
func TestAskRefuses(t *testing.T) {
	rules := write(t, "rules", webFirewall)
	for question, says := range map[string]string{
		"where":                               `question, word 1: where: want "what can reach END"`,
		"what can eat 10.0.0.1":               "question, word 3: eat: want",
		"what can reach":                      "question, word 4: nothing: want an address",
		"what is lost":                        "question, word 3: lost: want",
		"what is":                             "question, word 3: the question ends here: want",
		"what is dropped to pod/none":         "question, word 5: pod/none",
		"what is dropped to 10.0.0.0/33":      "question, word 5",
		"what is dropped by wg0":              "question, word 5: wg0: the host has no such device; it has eth0, lo",
		"fate of tcp to 10.0.0.1:0":           "question, word 5: 10.0.0.1:0: a port is a number from 1 to 65535",
		"what is dropped quic":                "question, word 4: quic: want",
		"what is dropped, and why":            "question, word 5: why: want",
		"what can reach 10.0.0.1:http please": "question, word 4",
	} {
		t.Run(question, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"ask", rules}, strings.Fields(question)...)...)
			assert.Equal(t, exitUsage, status, out)
			assert.Empty(t, out)
			assert.Contains(t, errOut, says)
		})
	}
}
