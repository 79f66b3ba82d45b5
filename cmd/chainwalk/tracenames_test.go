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
)

// traced are the arguments of a trace on the recorded cluster, with its objects and some of its nodes.
func traced(tools string, nodes ...string) []string {
	args := []string{"trace", "--objects", filepath.Join(clusterDump, "objects.yaml")}
	for _, node := range nodes {
		args = append(args, "--node", filepath.Join(clusterDump, tools, node+".yaml"))
	}
	return args
}

func TestTraceNamesObjects(t *testing.T) {
	race.OneGoroutine(t)
	for _, tc := range []struct {
		name, node, packet string
		want               []string
	}{
		{"a pod calls a service", "demo-worker", "tcp pod/shop/echo-77c9b5bcb7-d6rwv:40000 > svc/shop/web:http", []string{
			"shop/web:http -> 3 endpoints", "packet: tcp 10.244.2.3:40000 > 10.96.125.22:80 in vethb246c797",
			"(pod shop/echo-77c9b5bcb7-ngq5b)"}},
		{"by names without namespaces", "demo-worker", "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/sticky", []string{
			"packet: tcp 10.244.2.3:40000 > 10.96.45.0:80 in vethb246c797"}},
		{"a pod of another node", "demo-worker2", "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > pod/echo-77c9b5bcb7-ngq5b:8080", []string{
			"packet: tcp 10.244.2.3:40000 > 10.244.1.2:8080 in eth0"}},
		{"the node itself", "demo-worker", "tcp node/demo-worker:40000 > svc/web:http", []string{
			"packet: tcp 172.18.0.3:40000 > 10.96.125.22:80 local"}},
		{"a pod of the node's network", "demo-control-plane", "tcp pod/etcd-demo-control-plane:40000 > svc/web:http", []string{
			"packet: tcp 172.18.0.4:40000 > 10.96.125.22:80 local"}},
		{"what is said stays", "demo-worker", "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/web:http in eth0", []string{
			"packet: tcp 10.244.2.3:40000 > 10.96.125.22:80 in eth0"}},
		{"the hint of another zone", "demo-worker", "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/zoned", []string{
			"not reached:\n  10.244.1.70:8080: hint of zone zone-b: demo-worker is in zone zone-a\n"}},
		{"terminating", "demo-worker", "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/draining", []string{
			"not reached:\n  10.244.2.60:8080: terminating, while others are ready\n"}},
		{"not ready", "demo-worker", "udp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/kube-dns:dns", []string{
			"10.244.0.3:53 (pod kube-system/coredns-66bc5c9577-tvnrs): not ready\n"}},
		{"policy Local", "demo-worker2", "tcp 198.51.100.10:40000 > node/demo-worker2:30081 in eth0", []string{
			"not reached:\n  10.244.2.2:8080 (pod shop/one-78b79d6f88-h7zhv): policy Local: it is on demo-worker and the packet on demo-worker2"}},
		{"source ranges", "demo-worker", "tcp 198.51.100.10:40000 > 203.0.113.10:443 in eth0", []string{
			"source range: 198.51.100.10 is in none of 203.0.113.0/24, 172.18.0.0/16 (loadBalancerSourceRanges)\n"}},
		{"another port", "demo-worker", "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/web:81", []string{
			"not reached:\n  service shop/web: it has no port 81 of TCP: it has http 80/TCP, dns-udp 53/UDP\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, tools := range someTools(t) {
				status, out, errOut := call("", append(traced(tools, tc.node), tc.packet)...)
				require.Equal(t, exitHeld, status, errOut)
				for _, text := range tc.want {
					assert.Contains(t, out, text, tools)
				}
			}
		})
	}
	_, out, _ := call("", append(traced("nft", "demo-worker"), "tcp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/web:http")...)
	assert.NotContains(t, out, "not reached", "all endpoints are")
}

func TestTraceRefusesNames(t *testing.T) {
	race.OneGoroutine(t)
	node := filepath.Join(clusterDump, "nft", "demo-worker.yaml")
	objects := filepath.Join(clusterDump, "objects.yaml")
	const packet = "tcp pod/shop/client:40000 > svc/shop/web:http"
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no objects", []string{"--node", node, packet}, "names of objects take the objects: give -f FILE"},
		{"nobody of that name", []string{"--node", node, "--objects", objects, packet},
			`packet: column 5: "pod/shop/client:40000": no pod has that name: the objects have shop/echo-77c9b5bcb7-d6rwv, `},
		{"a wrong word behind names", []string{"--node", node, "--objects", objects, "tcp pod/echo-77c9b5bcb7-d6rwv:1 > svc/web:http flag SYN"},
			`packet: column 48: "flag"`},
		{"a way for one node", []string{"--node", node, "--via", "demo-worker", packet}, "--via is for several --node"},
		{"all rules of several nodes", []string{"--node", node, "--node", node, "--all-rules", packet}, "--all-rules is for one node"},
		{"the same node twice", []string{"--node", node, "--node", node, "tcp 10.244.2.3:1 > 10.96.125.22:80"},
			"two snapshots are of demo-worker"},
		{"a device with several nodes", []string{"--node", node, "--node", filepath.Join(clusterDump, "nft", "demo-worker2.yaml"),
			"tcp 10.244.2.3:1 > 10.96.125.22:80 in eth0"}, `leave out "in eth0"`},
		{"a node that has not the source", []string{"--node", node, "--node", filepath.Join(clusterDump, "nft", "demo-worker2.yaml"),
			"tcp 10.9.9.9:1 > 10.96.125.22:80 local"}, "no node has the address 10.9.9.9"},
		{"no such way", []string{"--node", node, "--node", filepath.Join(clusterDump, "nft", "demo-worker2.yaml"), "--via", "worker",
			"tcp 10.244.2.3:1 > 10.96.125.22:80"}, `no node is named "worker": there are demo-worker, demo-worker2`},
		{"no objects in a file", []string{"--node", node, "--objects", node, packet}, "demo-worker.yaml:1:1: no apiVersion and kind"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errOut := call("", append([]string{"trace"}, tc.args...)...)
			assert.Equal(t, exitUsage, status)
			assert.Empty(t, out)
			assert.Contains(t, errOut, tc.want)
		})
	}
}

func TestTraceThroughSeveralNodes(t *testing.T) {
	race.OneGoroutine(t)
	packet := "tcp pod/shop/echo-77c9b5bcb7-d6rwv:40000 > svc/shop/web:http"
	for _, tools := range someTools(t) {
		status, out, errOut := call("", append(traced(tools, dumpNodes...), packet)...)
		require.Equal(t, exitHeld, status, errOut)
		first, _, _ := strings.Cut(out, "\n")
		assert.Contains(t, first, "shop/web:http -> 3 endpoints, 1/3 each")
		assert.Contains(t, first, "connected to echo-77c9b5bcb7-ngq5b, echo-77c9b5bcb7-pj6sh or echo-77c9b5bcb7-d6rwv")
		for _, text := range []string{
			"demo-worker2, there: ", "demo-worker, back: ", "source 10.244.1.2:8080 becomes 10.96.125.22:80 (the reply of a DNAT)",
		} {
			assert.Contains(t, out, text)
		}
	}
	_, out, _ := call("", append(traced("nft", dumpNodes...), "tcp 198.51.100.77:40000 > node/demo-worker2:30081")...)
	assert.Contains(t, out, "policy Local: it is on demo-worker and the packet on demo-worker2")
	assert.True(t, strings.HasPrefix(out, "dropped on demo-worker2: shop/lb-local:http has no local endpoints\n"), out)
	_, out, _ = call("", append(traced("nft", dumpNodes...), "udp pod/echo-77c9b5bcb7-d6rwv:40000 > svc/kube-dns:dns")...)
	assert.True(t, strings.HasPrefix(out, "rejected on demo-worker: kube-system/kube-dns:dns has no endpoints, which the client is told\n"),
		out)
	assert.Contains(t, out, "sent by eth0 to 10.244.2.1", "a pod sends its own packets")

	status, out, errOut := call("", append(traced("nft", dumpNodes...), "-o", "json", "tcp node/demo-worker:40000 > svc/zoned")...)
	require.Equal(t, exitHeld, status, errOut)
	var document connectionDocument
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	assert.Equal(t, connectionKind, document.Kind)
	assert.Equal(t, 1, document.Version)
	assert.Equal(t, dumpNodes, document.Nodes)
	require.Len(t, document.Connections, 1)
	require.Len(t, document.Outcomes, 1)
	assert.True(t, document.Connections[0].Made)
	assert.Equal(t, "10.244.2.70:8080", document.Connections[0].Asked.String())
	assert.Len(t, document.Unreached, 2)
	assert.Equal(t, "demo-worker", document.Outcomes[0].Passages[0].Host)

	for _, form := range []string{"html", "mermaid"} {
		status, out, errOut := call("", append(traced("nft", dumpNodes...), "-o", form, packet)...)
		require.Equal(t, exitHeld, status, errOut)
		assert.Contains(t, out, "echo-77c9b5bcb7-ngq5b", form)
	}
}

func TestTraceDocumentHasWhatTheResultHas(t *testing.T) {
	packet := "tcp 10.244.2.3:40000 > 10.96.85.122:80 in vethb246c797"
	_, without, _ := call("", "trace", "-o", "json", "--node", filepath.Join(clusterDump, "nft", "demo-worker.yaml"), packet)
	_, with, _ := call("", append(traced("nft", "demo-worker"), "-o", "json", packet)...)
	var was, is map[string]any
	require.NoError(t, json.Unmarshal([]byte(without), &was))
	require.NoError(t, json.Unmarshal([]byte(with), &is))
	for field, value := range was {
		assert.Equal(t, value, is[field], field)
	}
	assert.Len(t, is["unreached"], 2)
	assert.Contains(t, is["sentence"], "shop/zoned:http -> 10.244.2.70:8080")
}

func TestRunNamesTheScenariosObjects(t *testing.T) {
	path := write(t, "scenario.yaml", `name: named
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 172.30.0.41, ports: [{name: http, port: 80}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: http, port: 8080}]
  endpoints: [{addresses: [10.244.1.5], nodeName: node1, targetRef: {kind: Pod, name: web-1}}]
steps:
- connect: {from: 10.244.1.9, to: "tcp 172.30.0.41:80", expect: EXPECT}
`)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	wrong := write(t, "wrong.yaml", strings.Replace(string(text), "EXPECT", "drop", 1))
	status, out, errOut := call("", "run", "--ways", "none", wrong)
	require.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "    names:    172.30.0.41:80 is service shop/web:http, 10.244.1.5 is pod shop/web-1\n")
	_, out, _ = call("", "run", "-o", "json", wrong)
	assert.Contains(t, out, `"name": "service shop/web:http"`)
	right := write(t, "right.yaml", strings.Replace(string(text), "EXPECT", `{endpoints: ["10.244.1.5:8080"]}`, 1))
	status, out, _ = call("", "run", "-o", "json", right)
	assert.Equal(t, exitHeld, status)
	assert.NotContains(t, out, `"names"`, "a report says of what holds no more than that")
}
