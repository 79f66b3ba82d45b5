package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fromPod is a packet of a pod on demo-worker to a service.
const fromPod = "tcp 10.244.2.2:40000 > 10.96.125.22:80 in vethb0aa81ba"

// TestTraceIsUndecidedWhereSomethingIsNotKnown: the first sentence begins with the doubt, and the exit status says that nothing is certain.
func TestTraceIsUndecidedWhereSomethingIsNotKnown(t *testing.T) {
	folder := copied(t, filepath.Join(clusterDump, "nft", "demo-worker"))
	status, certain, _ := call("", "trace", "--node", folder, "--summary", fromPod)
	require.Equal(t, exitHeld, status)
	require.NoError(t, os.Remove(filepath.Join(folder, "sysctl.txt")))

	status, out, errOut := call("", "trace", "--node", folder, "--summary", fromPod)
	assert.Equal(t, exitNotHeld, status)
	assert.NotContains(t, errOut, "sysctl", "it is said once")
	const doubt = "unless net.ipv4.ip_forward is 0"
	assert.Contains(t, out, doubt+", "+certain[:20], "else the answer is the same")
	assert.Contains(t, out, "\nundecided: "+doubt+"; see: sysctl -a > sysctl\n")

	status, out, _ = call("", "trace", "--node", folder, "-o", "json", fromPod)
	assert.Equal(t, exitNotHeld, status)
	var document struct{ Doubts []map[string]string }
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	assert.Equal(t, []map[string]string{{"kind": "unread", "unless": "net.ipv4.ip_forward is 0", "see": "sysctl -a > sysctl"}},
		document.Doubts)

	status, out, _ = call("", "trace", "--node", folder, "-o", "html", fromPod)
	assert.Equal(t, exitNotHeld, status)
	assert.Contains(t, out, `<p class="state undecided">Undecided</p>`)
	assert.Contains(t, out, `<li>unless net.ipv4.ip_forward is 0; see <code>sysctl -a &gt; sysctl</code></li>`)

	other := filepath.Join(clusterDump, "nft", "demo-worker2")
	status, out, _ = call("", "trace", "--node", folder, "--node", other, "--summary", "tcp 10.244.2.2:40000 > 10.96.125.22:80")
	assert.Equal(t, exitNotHeld, status)
	assert.Contains(t, out, "unless on demo-worker net.ipv4.ip_forward is 0, ", "a connection has the doubts of the nodes that it passes")
	assert.NotContains(t, out, "on demo-worker2 net")
}

// TestTraceOfWhatThePacketDoesNotMeet says nothing of rules of the other family.
func TestTraceOfWhatThePacketDoesNotMeet(t *testing.T) {
	folder := copied(t, filepath.Join(clusterDump, "nft", "demo-worker"))
	require.NoError(t, os.Remove(filepath.Join(folder, "ip6tables-save.txt")))
	status, out, errOut := call("", "trace", "--node", folder, fromPod)
	assert.Equal(t, exitHeld, status, errOut)
	assert.NotContains(t, out+errOut, "IPv6")
}
