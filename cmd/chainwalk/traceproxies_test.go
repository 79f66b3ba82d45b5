package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTraceOfANodeWithAnotherServiceProxyIsUndecided: what the proxy does with packets to services is not walked, so nothing is promised of
// them, and no rule or address of the node is blamed.
func TestTraceOfANodeWithAnotherServiceProxyIsUndecided(t *testing.T) {
	objects, other := filepath.Join(clusterDump, "objects.yaml"), filepath.Join(clusterDump, "legacy", "demo-worker2.yaml")
	toPod := "tcp 10.244.2.2:40000 > 10.244.2.3:8080"
	for _, row := range []struct{ name, device, says string }{
		{"mode ipvs", "kube-ipvs0, addresses: [{address: 10.96.125.22/32, scope: global}]",
			"unless kube-proxy in mode ipvs takes it on demo-worker (device kube-ipvs0), "},
		{"Cilium", "cilium_host, up: true",
			"unless Cilium in the place of kube-proxy takes it on demo-worker (device cilium_host, and no chain of kube-proxy for a service), "},
	} {
		t.Run(row.name, func(t *testing.T) {
			node := withoutKubeProxy(t, filepath.Join(clusterDump, "legacy", "demo-worker.yaml"), row.device)
			for _, args := range [][]string{
				{"--node", node, "-f", objects, fromPod}, {"--node", node, fromPod},
				{"--node", node, "--node", other, "-f", objects, "svc/web:http", "--from", "pod/one-78b79d6f88-h7zhv"},
			} {
				status, out, errOut := call("", append([]string{"trace", "--summary"}, args...)...)
				assert.Equal(t, exitNotHeld, status, errOut)
				assert.True(t, strings.HasPrefix(out, row.says), out)
				assert.Regexp(t, "(?m)^CW406: ", out)
				assert.NotContains(t, out, "CW210", "an address that the device has for the proxy is no mistake")
			}
			for _, args := range [][]string{
				{"--node", node, "-f", objects, toPod + " in vethb0aa81ba"}, {"--node", node, toPod + " in vethb0aa81ba"},
				{"--node", node, "--node", other, "-f", objects, toPod},
			} {
				status, out, errOut := call("", append([]string{"trace", "--summary"}, args...)...)
				assert.Equal(t, exitHeld, status, errOut)
				assert.NotContains(t, out, "unless", "no service has to do with it")
			}
		})
	}
}

// withoutKubeProxy is a snapshot without the rules of kube-proxy for services, and with a device more.
func withoutKubeProxy(t *testing.T, file, device string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	chains := regexp.MustCompile(`(?m)^.*KUBE-(SVC|SVL|SEP|EXT|FW|SERVICES|NODEPORTS|PROXY|EXTERNAL|FORWARD).*\n`)
	changed := chains.ReplaceAllString(string(text), "")
	changed = strings.Replace(changed, "\ndevices:\n", "\ndevices:\n  - {index: 900, mtu: 1500, name: "+device+"}\n", 1)
	out := filepath.Join(t.TempDir(), "node.yaml")
	require.NoError(t, os.WriteFile(out, []byte(changed), 0o600))
	return out
}
