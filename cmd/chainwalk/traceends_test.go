package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
)

func TestTraceBetweenEnds(t *testing.T) {
	race.OneGoroutine(t)
	for _, tc := range []struct {
		name  string
		nodes []string
		args  string
		first string // the beginning of the answer
		want  []string
	}{
		{"through all nodes", dumpNodes, "svc/shop/web:http --from pod/shop/one-78b79d6f88-h7zhv",
			"shop/web:http -> 3 endpoints, 1/3 each, source kept, connected to",
			[]string{"packet: tcp 10.244.2.2:40000 > 10.96.125.22:80\n", "demo-worker, back: "}},
		{"through the client's node", dumpNodes[1:2], "svc/web:dns-udp --from pod/one-78b79d6f88-h7zhv",
			"shop/web:dns-udp -> 3 endpoints", []string{"packet: udp 10.244.2.2:40000 > 10.96.125.22:53 in vethb0aa81ba\n"}},
		{"of several ports the first", dumpNodes, "svc/web --from pod/one-78b79d6f88-h7zhv",
			"the first of 2 calls, TCP 10.96.125.22:80: shop/web:http -> 3 endpoints", []string{
				"note: pod/one-78b79d6f88-h7zhv can also call svc/web by UDP 10.96.125.22:53: trace it with another port or address in TO\n"}},
		{"of several families the first", dumpNodes[1:2], "svc/dual --from node/demo-worker",
			"the first of 2 calls, TCP 10.96.8.55:80: shop/dual:http -> 3 endpoints", []string{
				"packet: tcp 172.18.0.3:40000 > 10.96.8.55:80 local\n", " by TCP [fd00:10:96::2b36]:80: trace it"}},
		{"the other family", dumpNodes, "[fd00:10:96::2b36]:80 --from node/demo-worker",
			"shop/dual:http -> 3 endpoints", []string{"packet: tcp [fc00:f853:ccd:e793::3]:40000 > [fd00:10:96::2b36]:80\n"}},
		{"from outside by the first node", dumpNodes, "svc/lb-local --from outside",
			"the first of 6 calls, TCP 203.0.113.12:80 by demo-control-plane: dropped on demo-control-plane: ", []string{
				"TCP 203.0.113.12:80 by demo-worker,", "trace it with another port or address in TO, or another node in --via\n"}},
		{"from outside by a node", dumpNodes, "svc/lb-local --from outside --via demo-worker",
			"the first of 2 calls, TCP 203.0.113.12:80 by demo-worker: shop/lb-local:http -> 10.244.2.2:8080", nil},
		{"from outside to the only node", dumpNodes[1:2], "node/demo-worker:30081 --from outside",
			"the first of 2 calls, TCP 172.18.0.3:30081 by demo-worker: shop/lb-local:http -> 10.244.2.2:8080", []string{
				"packet: tcp 198.51.100.10:40000 > 172.18.0.3:30081 in eth0\n"}},
		{"an echo from an address", dumpNodes, "pod/echo-77c9b5bcb7-ngq5b --from 10.244.2.2",
			"no rule of a Service matches icmp 10.244.1.2; connected as it was to echo-77c9b5bcb7-ngq5b\n", nil},
		{"what has no endpoints", dumpNodes[1:2], "svc/empty --from pod/one-78b79d6f88-h7zhv",
			"rejected: shop/empty:http has no endpoints\n", []string{"CW503: The selector of shop/empty (app=nobody) selects no pod."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, tools := range someTools(t) {
				status, out, errOut := call("", append(traced(tools, tc.nodes...), strings.Fields(tc.args)...)...)
				require.Equal(t, exitHeld, status, errOut)
				assert.True(t, strings.HasPrefix(out, tc.first), out)
				for _, text := range tc.want {
					assert.Contains(t, out, text, tools)
				}
			}
		})
	}
}

// TestTraceBetweenEndsIsThatOfItsPacket holds that every form of the answer is that of the packet that the first line names: the forms of
// one node's answer and those of several nodes' take turns.
func TestTraceBetweenEndsIsThatOfItsPacket(t *testing.T) {
	race.OneGoroutine(t)
	n := 0
	for _, nodes := range [][]string{dumpNodes, dumpNodes[1:2]} {
		for _, form := range []string{"-o=text", "--summary", "-o=json", "-o=html", "-o=mermaid"} {
			if n++; !sample.Takes(t, n-1, 2) {
				continue
			}
			of := append(traced("nft", nodes...), form)
			_, packet, _ := call("", append(of, "tcp pod/one-78b79d6f88-h7zhv:40000 > svc/web:http")...)
			status, ends, errOut := call("", append(of, "svc/web:http", "--from", "pod/one-78b79d6f88-h7zhv")...)
			require.Equal(t, exitHeld, status, errOut)
			assert.Equal(t, packet, ends, form)
		}
		status, out, errOut := call("", append(traced("nft", nodes...), "-o=json", "svc/web", "--from", "pod/one-78b79d6f88-h7zhv")...)
		require.Equal(t, exitHeld, status, errOut)
		var document struct {
			Sentence string   `json:"sentence"`
			Notes    []string `json:"notes"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &document))
		assert.True(t, strings.HasPrefix(document.Sentence, "the first of 2 calls, TCP 10.96.125.22:80: shop/web:http"), document.Sentence)
		assert.Contains(t, strings.Join(document.Notes, "\n"), "can also call svc/web by UDP 10.96.125.22:53")
	}
}

func TestTraceBetweenEndsOfAFolder(t *testing.T) {
	race.OneGoroutine(t)
	args := []string{"trace", "--summary", "svc/shop/web:http", "--from", "pod/shop/echo-77c9b5bcb7-d6rwv", "--saved"}
	status, out, errOut := call("", append(args, savedDump(t, "", dumpNodes...))...)
	require.Equal(t, exitHeld, status, errOut)
	assert.Contains(t, out, "packet: tcp 10.244.2.3:40000 > 10.96.125.22:80\n")
	status, _, errOut = call("", append(args, savedDump(t, "demo-worker", "demo-worker2"))...)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "there is no snapshot of demo-worker (its kubelet is silent): run chainwalk snapshot there")
	status, _, errOut = call("", append(args, savedDump(t, "demo-worker"))...)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "it has no snapshot of a node: add one with --node")
}

func TestTraceRefusesEnds(t *testing.T) {
	race.OneGoroutine(t)
	node, objects := filepath.Join(clusterDump, "nft", "demo-worker.yaml"), filepath.Join(clusterDump, "objects.yaml")
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	for _, tc := range []struct{ name, args, want string }{
		{"no client", "--node N -f O svc/web", "svc/web is one end of a connection: give the end that calls it with --from"},
		{"the ends of why", "--node N -f O pod/a svc/web", "write the one that calls behind --from: chainwalk trace svc/web --from pod/a"},
		{"no end", "--node N -f O --from pod/a", "or two ends: svc/shop/web --from pod/shop/client"},
		{"no cluster", "svc/web --from pod/a", "--node is missing: give the file with a NodeSnapshot"},
		{"no objects", "--node N svc/web --from pod/a", "--from takes the objects of the cluster: give -f FILE (kubectl get"},
		{"rules alone", "--rules x -f O svc/web --from pod/a", "--from takes the nodes of a cluster"},
		{"another node's pod", "--node N -f O svc/web --from pod/echo-77c9b5bcb7-ngq5b", "there is no snapshot of demo-worker2"},
		{"nobody", "--node N -f O svc/web --from pod/nobody", "pod/nobody: no pod has that name: the objects have"},
		{"no such service", "--node N -f O svc/shop/wep --from node/demo-worker", "svc/shop/wep: no service has that name"},
		{"no such port", "--node N -f O svc/web:81 --from node/demo-worker", "svc/web:81: shop/web has no port 81: it has http 80/TCP"},
		{"a service as client", "--node N -f O svc/web --from svc/dual", "svc/dual: a service opens no connections"},
		{"a node that nothing comes by", "--node N --node M -f O node/demo-worker:30081 --from outside --via demo-worker2",
			"--via demo-worker2: no call of node/demo-worker:30081 comes by it: TCP 172.18.0.3:30081 by demo-worker"},
		{"two sources", "-A --saved x svc/web --from pod/a", "--saved and -A (--all-namespaces): give one of them"},
		{"a flag of gathering", "--yes --node N -f O svc/web --from pod/a", "--yes is for gathering from a cluster: give -A"},
		{"no cluster to gather from", "--kubeconfig K svc/web --from pod/a", "no cluster to gather from"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			words := strings.Fields(tc.args)
			for i, word := range words {
				switch word {
				case "N":
					words[i] = node
				case "M":
					words[i] = filepath.Join(clusterDump, "nft", "demo-worker2.yaml")
				case "O":
					words[i] = objects
				case "K":
					words[i] = nowhere
				}
			}
			status, out, errOut := call("", append([]string{"trace"}, words...)...)
			assert.Equal(t, exitUsage, status)
			assert.Empty(t, out)
			assert.Contains(t, errOut, tc.want)
		})
	}
	status, _, errOut := call("", append(traced("nft", "demo-worker"), "tcp pod/a:1 > svc/web", "--from", "pod/a")...)
	assert.Equal(t, exitUsage, status)
	assert.Contains(t, errOut, "is no end of a connection: with --from write svc/NAMESPACE/NAME[:PORT]")
}

func TestTraceCompletesEnds(t *testing.T) {
	_, out, _ := call("", "__complete", "trace", "--from", "")
	assert.Contains(t, out, "outside\n")
	_, out, _ = call("", "__complete", "trace", "s")
	assert.Contains(t, out, "svc/\n")
}
