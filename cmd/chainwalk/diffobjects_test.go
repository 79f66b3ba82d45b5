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

// webObjects is a service of two endpoints, one of them on the node.
const webObjects = `apiVersion: v1
kind: Node
metadata: {name: n1}
spec: {podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24]}
status: {addresses: [{type: InternalIP, address: 192.0.2.1}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: NodePort
  clusterIP: 10.96.0.20
  ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints:
- {addresses: [10.244.1.5], nodeName: n1}
- {addresses: [10.244.2.5], nodeName: n2}
`

func TestDiffOfSidesOfObjects(t *testing.T) {
	moved := strings.Replace(webObjects, "port: 80, targetPort", "port: 81, targetPort", 1)
	before, after := write(t, "before.yaml", webObjects), write(t, "after.yaml", moved)
	folder := t.TempDir()
	for name, text := range map[string]string{"a.yaml": moved, "b.yaml": "note: this is none\n", "README.md": "# apiVersion and kind\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	rules := write(t, "node.rules", "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\nCOMMIT\n")
	for name, row := range map[string]struct {
		args   []string
		status int
		out    []string
	}{
		"the same": {[]string{before, before}, exitHeld, []string{
			before + " (n1, mode iptables) and " + before + " (n1, mode iptables) treat all packets alike",
		}},
		"another port": {[]string{before, after}, exitNotHeld, []string{
			"to service shop/web:http; after: to service shop/web\n", "to service shop/web; after: to service shop/web:http\n", "KUBE-SEP-",
		}},
		"a folder":        {[]string{before, folder}, exitNotHeld, []string{"to service shop/web:http; after: to service shop/web\n"}},
		"the other mode":  {[]string{before, "--to-mode", "nftables"}, exitNotHeld, []string{"ip kube-proxy:", "KUBE-", "127.0.0.1:30080"}},
		"what it lacks":   {[]string{rules, before}, exitNotHeld, []string{"before   accept", "to 10.244.1.5 port 8080", ":30080 local"}},
		"in another mode": {[]string{before, before, "--mode", "nftables"}, exitHeld, []string{"(n1, mode nftables)"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"diff"}, row.args...)...)
			assert.Equal(t, row.status, status, out+errOut)
			for _, text := range row.out {
				assert.Contains(t, out, text)
			}
		})
	}
}

// TestDiffOfObjectsIsCertified: a certificate of what kube-proxy writes can be checked without the objects.
func TestDiffOfObjectsIsCertified(t *testing.T) {
	race.OneGoroutine(t)
	file := filepath.Join(t.TempDir(), "change.json")
	objects := write(t, "objects.yaml", strings.ReplaceAll(webObjects, "  type: NodePort\n", ""))
	status, out, errOut := call(objects, "diff", objects, "--to-mode", "nftables", "--certificate", file)
	assert.Equal(t, exitNotHeld, status, out+errOut)
	status, out, errOut = call("", "verify", file)
	assert.Equal(t, exitHeld, status, out+errOut)
	assert.Contains(t, out, objects+" (n1, mode iptables) and "+objects+" (n1, mode nftables) treat those of")
}

// TestNodesAreAsTheirObjectsSay: kube-proxy of the recorded cluster has written what our proxier writes, whatever the order of its rules.
func TestNodesAreAsTheirObjectsSay(t *testing.T) {
	race.OneGoroutine(t)
	objects := filepath.Join(clusterDump, "objects.yaml")
	for _, tools := range someTools(t) {
		node := filepath.Join(clusterDump, tools, "demo-worker.yaml")
		config := filepath.Join(clusterDump, tools, "demo-worker", "kube-proxy.yaml")
		status, out, errOut := call("", "diff", node, objects, "--config", config)
		assert.Equal(t, exitHeld, status, out+errOut)
		text, err := os.ReadFile(node)
		require.NoError(t, err)
		other := strings.Replace(string(text), "--to-destination 10.244.1.2:8080", "--to-destination 10.244.1.9:8080", 1)
		edited := write(t, "edited.yaml", other)
		status, out, errOut = call("", "diff", edited, objects, "--config", config)
		assert.Equal(t, exitNotHeld, status, out+errOut)
		assert.Contains(t, out, "10.244.1.9")
	}
}

func TestDiffSaysWhatIsWrongWithObjects(t *testing.T) {
	objects, rules := write(t, "objects.yaml", webObjects), write(t, "rules", webFirewall)
	config := write(t, "config.yaml", "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n")
	mixed := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(mixed, "o.yaml"), []byte(webObjects), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(mixed, "x.rules"), []byte(webFirewall), 0o600))
	two := write(t, "two.yaml", webObjects+"---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\nspec: {}\n"+
		"status: {addresses: [{type: InternalIP, address: 192.0.2.2}]}\n")
	broken := write(t, "broken.yaml", strings.Replace(webObjects, "nodePort: 30080", "nodePort: many", 1))
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{objects}, "want BEFORE and AFTER, got 1 arguments"},
		{[]string{rules, "--to-mode", "nftables"}, "rules has no Kubernetes objects: give AFTER too"},
		{[]string{rules, rules, "--mode", "nftables"}, "--mode is for Kubernetes objects, and neither side has any"},
		{[]string{objects, rules, "--to-mode", "nftables"}, "--to-node, --to-mode and --to-config are for those of AFTER"},
		{[]string{objects, objects, "--mode", "ipvs"}, "--mode ipvs: want iptables or nftables"},
		{[]string{objects, config}, "a configuration without objects: give it with --config, or --to-config"},
		{[]string{objects, mixed}, "objects, and snapshots or rules beside them"},
		{[]string{two, two}, "two.yaml: the objects have 2 nodes: choose one with --node: n1, n2"},
		{[]string{objects, objects, "--node", "n9"}, `no Node object is named "n9": the objects have n1`},
		{[]string{objects, broken}, "broken.yaml:13:"},
	} {
		status, out, errOut := call("", append([]string{"diff"}, row.args...)...)
		assert.Equal(t, exitUsage, status, out)
		assert.Contains(t, errOut, row.want)
	}
}
