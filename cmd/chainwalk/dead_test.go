package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/internal/race"
)

const deadFirewall = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:OUTPUT ACCEPT [0:0]\n:WEB - [0:0]\n:LOST - [0:0]\n" +
	"-A FORWARD -d 10.0.0.0/8 -p tcp -j WEB\n-A FORWARD -d 10.0.0.0/8 -j DROP\n" +
	"-A FORWARD -d 10.1.0.0/16 -p udp -m udp --dport 53 -j ACCEPT\n" +
	"-A WEB -p udp -m udp --dport 53 -j ACCEPT\n-A LOST -j ACCEPT\nCOMMIT\n"

func TestRulesThatNoPacketMatches(t *testing.T) {
	path := write(t, "fw.rules", deadFirewall)
	status, out, errOut := call("", "rules", "--dead", path)
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Equal(t, `3 rules are matched by no packet

filter of IPv4, chain FORWARD, rule 3
  -A FORWARD -d 10.1.0.0/16 -p udp -m udp --dport 53 -j ACCEPT
  covered by rule 2, which takes what it would match

filter of IPv4, chain LOST, rule 1
  -A LOST -j ACCEPT
  no packet comes to its chain

filter of IPv4, chain WEB, rule 1
  -A WEB -p udp -m udp --dport 53 -j ACCEPT
  it would match none of the packets that come to its chain, by FORWARD rule 1
`, out)

	status, out, errOut = call(deadFirewall, "rules", "--shadowed", "-", "-o", "json")
	assert.Equal(t, exitNotHeld, status, errOut)
	var result deadResult
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	require.Len(t, result.Sources, 1)
	require.Len(t, result.Sources[0].Dead, 1)
	assert.Equal(t, forall.Covered, result.Sources[0].Dead[0].Why)
	assert.Equal(t, []int{2}, result.Sources[0].Dead[0].CoveredBy)

	status, out, _ = call("", "rules", "--dead", "--family", "6", path)
	assert.Equal(t, exitHeld, status)
	assert.Equal(t, "no dead rule was found\n", out)
}

func TestDeadRulesOfTheRecordedCluster(t *testing.T) {
	race.OneGoroutine(t)
	status, out, errOut := call("", "rules", "--dead", filepath.Join(clusterDump, "legacy", "demo-worker"),
		filepath.Join(clusterDump, "nft", "demo-worker.yaml"))
	assert.Equal(t, exitHeld, status, out+errOut)
	status, out, errOut = call("", "rules", "--dead", "-f", filepath.Join(clusterDump, "objects.yaml"), "--node", "demo-worker",
		"--mode", "nftables")
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "@no-endpoint-services\n  no packet meets its conditions") // the map is empty
}

func TestDeadRulesThatCannotBeJudged(t *testing.T) {
	text := "table ip a {\n\tchain c {\n\t\ttype filter hook forward priority 0; policy accept;\n\t\ttcp dport 81 tcp dport set 80\n\t}\n}\n"
	status, out, errOut := call(text, "rules", "--dead", "-")
	assert.Equal(t, exitUsage, status, errOut)
	assert.Contains(t, out, "cannot say of all")
	assert.Contains(t, out, "not judged: table ip a")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--dead"}, "--dead and --shadowed need rules"},
		{[]string{"--dead", "-", "-"}, "- is given twice"},
		{[]string{"--dead", "-", "-f", "objects.yaml"}, "give one of them"},
		{[]string{"--dead", "--shadowed", "-"}, "none of the others can be"},
		{[]string{"--dead", "-", "-o", "yaml"}, "want text or json"},
		{[]string{"fw.rules"}, `unknown argument "fw.rules"`},
		{nil, "-f (--filename) is missing"},
	} {
		status, _, errOut := call("", append([]string{"rules"}, row.args...)...)
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, errOut, row.want)
	}
}
