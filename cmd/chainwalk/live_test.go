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
	"github.com/chainwalk/chainwalk/scenarios/users/live"
)

// recorded are the arguments that name the recorded cluster and some of its nodes.
func recorded(folder string, nodes ...string) []string {
	config := filepath.Join(folder, "legacy", "demo-worker", "kube-proxy.yaml")
	args := []string{"-f", filepath.Join(folder, "objects.yaml"), "--config", config}
	for _, node := range nodes {
		args = append(args, "--node", filepath.Join(folder, "legacy", node+".yaml"))
	}
	return args
}

func TestDoctorFindsNothingWrongWithTheRecordedCluster(t *testing.T) {
	race.OneGoroutine(t)
	status, out, errOut := call("", append([]string{"doctor"}, recorded(clusterDump, dumpNodes...)...)...)
	assert.Equal(t, exitHeld, status, errOut)
	assert.Regexp(t, "^nothing is wrong: [0-9]+ connections judged on 3 nodes\n", out)
	assert.Empty(t, errOut)
}

func TestDoctorNamesADeletedRule(t *testing.T) {
	race.OneGoroutine(t)
	folder := copied(t, clusterDump)
	file := filepath.Join(folder, "legacy", "demo-worker.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	const rule = `-A KUBE-SVC-67NZLRHBNDSAWJRO -m comment --comment "shop/web:http -> 10.244.2.3:8080" -j KUBE-SEP-ZEIDTFVL27F4EVRN`
	require.Equal(t, 1, strings.Count(string(text), rule))
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, rule) {
			kept = append(kept, line)
		}
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(kept, "")), 0o600))
	found := filepath.Join(t.TempDir(), "found")

	status, out, errOut := call("", append([]string{"doctor", "--out", found, "--shrinks", "10"}, recorded(folder, dumpNodes...)...)...)
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "1 thing is wrong: 1 rule of kube-proxy's for shop/web is missing on demo-worker (CW401): 1 service, ")
	assert.Contains(t, out, "missing   demo-worker: iptables -t nat "+rule)

	witness := filepath.Join(found, "finding1.yaml")
	assert.Contains(t, errOut, "wrote "+witness)
	status, out, errOut = call("", "run", witness)
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "10.244.2.3:8080")

	status, out, errOut = call("", append([]string{"doctor", "-o", "json"}, recorded(folder, "demo-worker")...)...)
	assert.Equal(t, exitNotHeld, status, errOut)
	var report live.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Len(t, report.Findings, 1)
	assert.Equal(t, rule, report.Findings[0].Missing[0].Text)
	assert.NotEmpty(t, report.Unjudged)
}

func TestScenarioFromRunsGreen(t *testing.T) {
	race.OneGoroutine(t)
	status, out, errOut := call("", append([]string{"scenario", "from", "--anonymise"}, recorded(clusterDump, dumpNodes...)...)...)
	require.Equal(t, exitHeld, status, errOut)
	assert.True(t, strings.HasPrefix(out, "# A running cluster"), out[:80])
	assert.NotContains(t, out, "demo-worker")
	status, out, errOut = call("", "run", "--ways", "none", write(t, "cluster.yaml", out))
	assert.Equal(t, exitHeld, status, out+errOut)
	assert.Contains(t, out, "ok    a running cluster")
}

func TestLiveCommandsRefuse(t *testing.T) {
	someNode := write(t, "node.yaml", node)
	objects := filepath.Join(clusterDump, "objects.yaml")
	node := filepath.Join(clusterDump, "legacy", "demo-worker.yaml")
	service := write(t, "service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no objects", []string{"doctor", "--node", node}, "-f (--filename) is missing: give the file with Kubernetes objects"},
		{"no snapshot", []string{"doctor", "-f", objects}, "--node is missing: give the file with the NodeSnapshot of a node"},
		{"no snapshot for a scenario is none to refuse", []string{"scenario", "from"},
			"-f (--filename) is missing: give the file with Kubernetes objects"},
		{"objects without a node", []string{"doctor", "-f", service, "--node", node}, "the objects have no Node"},
		{"objects without an endpoint slice", []string{"doctor", "-f", service, "-f", someNode, "--node", node},
			"the objects have no EndpointSlice"},
		{"drift without an endpoint slice", []string{"rules", "-f", service, "-f", someNode, "--diff", node},
			"the objects have no EndpointSlice"},
		{"a snapshot twice", []string{"doctor", "-f", objects, "--node", node, "--node", node}, "two snapshots are of demo-worker"},
		{"a file that is no snapshot", []string{"doctor", "-f", objects, "--node", objects}, "objects.yaml:1:1: version: the version is missing"},
		{"a form that is none", []string{"doctor", "-f", objects, "--node", node, "-o", "junit"}, "-o junit: want text, json or html"},
		{"a configuration of no node", []string{"doctor", "-f", objects, "--node", node, "--node-config", "kube-proxy.yaml"},
			"--node-config kube-proxy.yaml: want NODE=FILE"},
		{"tools that are none", []string{"doctor", "-f", objects, "--node", node, "--tools", "nf"}, "--tools nf: want legacy or nft"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, out, errOut := call("", tc.args...)
			assert.Equal(t, exitUsage, status)
			assert.Empty(t, out)
			assert.Contains(t, errOut, tc.want)
		})
	}
}

func TestSchemasAreFresh(t *testing.T) {
	for _, of := range []string{"doctor", "migrate"} {
		shipped, err := os.ReadFile("../../docs/" + of + ".schema.json")
		require.NoError(t, err)
		status, out, errOut := call("", "schema", of)
		require.Equal(t, exitHeld, status, errOut)
		assert.Equal(t, string(shipped), out, "go run ./cmd/chainwalk schema %[1]s > docs/%[1]s.schema.json", of)
	}
}

func TestAReportIsAPage(t *testing.T) {
	folder := copied(t, clusterDump)
	file := filepath.Join(folder, "legacy", "demo-worker.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), ":FORWARD ACCEPT", ":FORWARD DROP", 1)), 0o600))
	status, out, errOut := call("", append([]string{"doctor", "-o", "html"}, recorded(folder, "demo-worker")...)...)
	assert.Equal(t, exitNotHeld, status, errOut)
	assert.Contains(t, out, "<h1>1 thing is wrong: the policy DROP of filter FORWARD drops the packet on demo-worker (CW101): ")
	assert.Contains(t, out, `<span class="state bad">wrong</span>`)
	assert.Contains(t, out, "iptables -t filter -P FORWARD ACCEPT")
	assert.Contains(t, out, "filter:FORWARD:policy:")
}
