package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

const (
	webFirewall = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\n-A FORWARD -s 10.0.0.0/8 -p udp -m udp --dport 53 -j ACCEPT\nCOMMIT\n"
	// webReordered has the same rules in another order, and one in two halves.
	webReordered = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n" +
		"-A FORWARD -s 10.0.0.0/9 -p udp -m udp --dport 53 -j ACCEPT\n-A FORWARD -s 10.128.0.0/9 -p udp -m udp --dport 53 -j ACCEPT\n" +
		"-A FORWARD -p tcp -m tcp --dport 80 -j ACCEPT\nCOMMIT\n"
	webNative = "table ip fw {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n" +
		"\t\ttcp dport 80 accept\n\t\tip saddr 10.0.0.0/8 udp dport 53 accept\n\t}\n}\n"
	webNative443 = "table ip fw {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy drop;\n" +
		"\t\ttcp dport { 80, 443 } accept\n\t\tip saddr 10.0.0.0/8 udp dport 53 accept\n\t}\n}\n"
)

func TestDiffOfAllPackets(t *testing.T) {
	for name, row := range map[string]struct {
		before, after string
		status        int
		out           []string
	}{
		"the same":              {webFirewall, webFirewall, exitHeld, []string{"treat all packets alike"}},
		"the same, reordered":   {webFirewall, webReordered, exitHeld, []string{"treat all packets alike"}},
		"the same, in nftables": {webFirewall, webNative, exitHeld, []string{"treat all packets alike"}},
		"one port more": {webFirewall, webNative443, exitNotHeld, []string{
			"1 kind of packets is treated otherwise", "tcp port 443", ":443 in eth0", "before   drop", "by     filter:FORWARD:policy:3",
			"after    accept out of eth0", "by     ip fw:forward:rule:", "tcp dport { 80, 443 } accept",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errOut := call("", "diff", write(t, "before", row.before), write(t, "after", row.after))
			assert.Equal(t, row.status, status, out+errOut)
			for _, text := range row.out {
				assert.Contains(t, out, text)
			}
		})
	}
}

func TestDiffOfNodes(t *testing.T) {
	race.OneGoroutine(t)
	nodes := recorded(clusterDump, dumpNodes[1:]...) // -f OBJECTS --node SNAPSHOT...
	var files []string
	for i, arg := range nodes {
		if i > 0 && nodes[i-1] == "--node" {
			files = append(files, arg)
		}
	}
	require.GreaterOrEqual(t, len(files), 2)
	status, out, errOut := call("", "diff", files[0], files[0])
	assert.Equal(t, exitHeld, status, out+errOut)
	status, out, errOut = call("", "diff", files[0], files[1], "-o", "json")
	assert.Equal(t, exitNotHeld, status, errOut)
	var result allpackets.Diff
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	assert.False(t, result.Same)
	assert.NotEmpty(t, result.Differences)
}

func TestDiffSaysWhatIsWrongWithItsArguments(t *testing.T) {
	rules := write(t, "rules", webFirewall)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{rules}, "want BEFORE and AFTER, got 1 arguments"},
		{[]string{rules, rules, "--class", "old"}, `class "old": want new`},
		{[]string{rules, rules, "--chance", "some"}, "want ideal or exact"},
		{[]string{rules, rules, "--ignore", "ports"}, "want mark, source or detail"},
		{[]string{rules, rules, "-o", "yaml"}, "want text, json or html"},
		{[]string{rules, rules, "--local", "here"}, `"here" is not an IP address`},
		{[]string{"-", "-"}, "- is given twice"},
		{[]string{rules, write(t, "broken", "*filter\nnonsense\nCOMMIT\n")}, "broken:2"},
	} {
		status, out, errOut := call("", append([]string{"diff"}, row.args...)...)
		assert.Equal(t, exitUsage, status, out)
		assert.Contains(t, errOut, row.want)
	}
}
