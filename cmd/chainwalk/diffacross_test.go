package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios/users/allpackets"
)

// TestDiffAcrossNodes: the nodes of the recorded cluster are alike, and one whose rules were edited is odd.
func TestDiffAcrossNodes(t *testing.T) {
	race.OneGoroutine(t)
	objects := filepath.Join(clusterDump, "objects.yaml")
	for _, tools := range someTools(t) {
		args := []string{"diff", "--across", "-f", objects}
		for _, node := range dumpNodes {
			args = append(args, filepath.Join(clusterDump, tools, node+".yaml"))
		}
		status, out, errOut := call("", args...)
		assert.Equal(t, exitHeld, status, out+errOut)
		assert.Contains(t, out, "3 nodes treat all compared packets alike\n  compared first packets from outside,")

		for _, edit := range []struct{ from, to, want string }{
			{"--to-destination 10.244.1.2:8080", "--to-destination 10.244.1.9:8080", "10.244.1.9"},
			{"-j MASQUERADE --random-fully", "-j RETURN", "of the packets from outside"},
			{":FORWARD ACCEPT", ":FORWARD DROP", "FORWARD:policy"},
		} {
			last := args[len(args)-1]
			text, err := os.ReadFile(last)
			require.NoError(t, err)
			require.Contains(t, string(text), edit.from)
			edited := write(t, "edited.yaml", strings.Replace(string(text), edit.from, edit.to, 1))
			status, out, errOut = call("", append(args[:len(args)-1:len(args)-1], edited)...)
			assert.Equal(t, exitNotHeld, status, out+errOut)
			assert.Contains(t, out, "1 of 3 nodes is odd: "+dumpNodes[2]+"\n  compared")
			assert.Contains(t, out, edit.want)
		}
	}
}

func TestDiffAcrossAsJSON(t *testing.T) {
	// Texts of rules have no more than a device to the outside.
	a, b, c := write(t, "a", webFirewall), write(t, "b", webReordered), write(t, "c", webNative443)
	status, out, errOut := call("", "diff", "--across", a, c, b, "-o", "json", "--local", "192.0.2.1")
	assert.Equal(t, exitNotHeld, status, errOut)
	var result allpackets.Nodes
	require.NoError(t, json.Unmarshal([]byte(out), &result))
	assert.Equal(t, [][]string{{a, b}, {c}}, result.Groups)
	require.NotEmpty(t, result.Odd)
	assert.Equal(t, []string{c}, result.Odd[0].Nodes)
	assert.Equal(t, a, result.Odd[0].Most)
	assert.Contains(t, result.Odd[0].Packets, "tcp port 443")
	assert.Equal(t, "accept out of eth0", result.Odd[0].Here.String())
	assert.Equal(t, "drop", result.Odd[0].There.String())
}

func TestDiffAcrossSaysWhatIsWrongWithItsArguments(t *testing.T) {
	a, b, objects := write(t, "a", webFirewall), write(t, "b", webFirewall), write(t, "objects.yaml", webObjects)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{a}, "--across: want two nodes or more, got 1"},
		{[]string{a, a}, "give one of each node"},
		{[]string{a, b, "--class", "established"}, "--class must be new"},
		{[]string{a, b, "--certificate", "x"}, "--certificate is for two sides"},
		{[]string{a, b, "--mode", "nftables"}, "leave out --mode, and name objects with -f"},
		{[]string{a, objects}, "objects.yaml"},
	} {
		status, out, errOut := call("", append([]string{"diff", "--across"}, row.args...)...)
		assert.Equal(t, exitUsage, status, out)
		assert.Contains(t, errOut, row.want)
	}
}
