package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSnapshotFromFiles: the files of a recorded node make a snapshot that packets are walked through.
func TestSnapshotFromFiles(t *testing.T) {
	from := filepath.Join(clusterDump, "nft", "demo-worker")
	status, out, errOut := call("", "snapshot", "--from", from)
	require.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "hostname: demo-worker\n", "the folder's name, as no file says it")
	assert.Contains(t, errOut, "chainwalk: not used: kube-proxy.yaml: ")
	assert.Contains(t, errOut, "chainwalk: not read: kinds of devices: ")
	assert.NotContains(t, out, "taken:")
	status, result, errOut := call(out, "trace", "--node", "-", "-o", "json", "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba")
	require.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, result, `"dnat": "10.244.1.2:8080"`)

	_, direct, errOut := call("", "trace", "--node", from, "-o", "json", "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba")
	assert.Equal(t, result, direct, "the folder is as good as its snapshot")
	assert.NotContains(t, errOut, "lacks", "it is said in the answer")
	assert.Contains(t, result, `"not read: kinds of devices: `)

	_, out, _ = call("", "snapshot", "--from", from, "--hostname", "n1", "-o", "json")
	assert.Contains(t, out, `"hostname": "n1"`)
	for want, folder := range map[string]string{
		"no file tells the node's devices: add what \"ip -j addr\" prints there": t.TempDir(),
		"want a folder with files of a node (if it is an archive, unpack it)":    filepath.Join(from, "ip-addr.json"),
	} {
		status, out, errOut = call("", "snapshot", "--from", folder)
		assert.Equal(t, exitUsage, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want)
	}
}
