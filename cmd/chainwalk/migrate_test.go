package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
)

// TestTheClusterAfterAChangeIsReadByAll holds that commands read the folder of --save-after as that of a cluster in the new mode.
func TestTheClusterAfterAChangeIsReadByAll(t *testing.T) {
	race.OneGoroutine(t)
	before, after := savedDump(t, "demo-worker2", "demo-control-plane", "demo-worker"), filepath.Join(t.TempDir(), "after")
	status, out, errOut := call("", "migrate", "--saved", before, "--all-packets=false", "--save-after", after)
	require.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "change to mode nftables")
	assert.Contains(t, errOut, "chainwalk: kept in "+after+": 53 objects, 2 of 3 nodes\n")

	was, is := filesIn(t, before), filesIn(t, after)
	assert.Equal(t, was["nodes/demo-worker2.missing"], is["nodes/demo-worker2.missing"])
	assert.NotContains(t, is, "nodes/demo-worker2.yaml")
	assert.Contains(t, is["kube-proxy.yaml"], "mode: nftables")
	assert.Contains(t, is["README"], "A cluster after a change, with nodes as chainwalk migrate foretold them at 2")
	assert.Contains(t, is["README"], "demo-worker is foretold: kube-proxy has started in mode nftables and has synced.")
	assert.Equal(t, 1, strings.Count(is["README"], "demo-worker2"), is["README"])

	status, out, errOut = call("", "doctor", "--saved", after, "-o", "json")
	assert.Equal(t, exitNotHeld, status, errOut) // a node gave no snapshot
	assert.Contains(t, out, `"name": "kube-proxy in mode nftables"`)
	assert.NotContains(t, out, "kube-proxy in mode iptables")
	status, out, errOut = call("", "trace", "--saved", after, "tcp pod/shop/echo-77c9b5bcb7-d6rwv:40000 > svc/shop/web:http")
	assert.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "ip kube-proxy")
	assert.NotContains(t, out, "KUBE-SERVICES")
	node := filepath.Join("nodes", "demo-worker.yaml")
	status, _, errOut = call("", "diff", filepath.Join(after, node), filepath.Join(after, node))
	assert.Equal(t, exitHeld, status, errOut)
	status, _, errOut = call("", "diff", filepath.Join(before, node), filepath.Join(after, node))
	assert.Equal(t, exitNotHeld, status, errOut)

	_, out, errOut = call("", "migrate", "--saved", after, "--all-packets=false")
	assert.Contains(t, out, "change to mode iptables", errOut)
}

// TestAChangeOfVersionsAloneKeepsTheRules holds what docs/migrate.md says of such a change.
func TestAChangeOfVersionsAloneKeepsTheRules(t *testing.T) {
	race.OneGoroutine(t)
	before, after := savedDump(t, "", "demo-worker"), filepath.Join(t.TempDir(), "after")
	_, _, errOut := call("", "migrate", "--saved", before, "--from-version", "1.35", "--to-version", "1.37", "--all-packets=false",
		"--save-after", after)
	node := filepath.Join("nodes", "demo-worker.yaml")
	status, out, more := call("", "diff", filepath.Join(before, node), filepath.Join(after, node))
	assert.Equal(t, exitHeld, status, out+errOut+more)
	assert.Contains(t, filesIn(t, after)["kube-proxy.yaml"], "mode: iptables")
}

func TestSavingAfterRefuses(t *testing.T) {
	full := savedDump(t, "", "demo-worker")
	for _, row := range []struct{ args, want string }{
		{"--saved " + full + " --save-after " + full, "chainwalk: --save-after: " + full + ": the folder is not empty: name another one"},
		{"--saved x --save-after " + filepath.Join(full, "objects.yaml"), "--save-after"},
		{"-A --save x --save-after ./x", "--save-after ./x: --save names the same folder"},
		{"-A --save x --anonymise --save-after y", "--anonymise is for the folder of --save alone"},
	} {
		status, out, errOut := call("", append([]string{"migrate"}, strings.Fields(row.args)...)...)
		assert.Equal(t, exitUsage, status, row.args)
		assert.Empty(t, out, row.args)
		assert.Contains(t, errOut, row.want, row.args)
	}
	none := filepath.Join(t.TempDir(), "none")
	status, _, errOut := call("", "migrate", "--saved", filepath.Join(t.TempDir(), "nowhere"), "--save-after", none)
	assert.Equal(t, exitUsage, status, errOut)
	_, err := os.Stat(none)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
