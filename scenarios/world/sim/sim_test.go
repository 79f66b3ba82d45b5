package sim_test

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// mustHold runs a scenario and shows its report if it does not hold.
func mustHold(t *testing.T, s *scenarios.Scenario) {
	t.Helper()
	result := scenarios.Run(t.Context(), s, sim.Backend{})
	if result.Failed() || len(result.Checks) == 0 && result.Skipped == "" {
		var report strings.Builder
		require.NoError(t, scenarios.WriteText(&report, []*scenarios.Result{result}, scenarios.WaysFailed))
		t.Error(report.String())
	}
}

// TestTheSameScenarioGivesTheSameResult compares whole reports, ways included.
func TestTheSameScenarioGivesTheSameResult(t *testing.T) {
	const text = `
name: fails in every way
steps:
- connect: {from: 10.244.1.9, to: "tcp 10.244.2.9:80", expect: drop}
- connect: {from: 203.0.113.2, to: "udp 192.168.0.2:53", expect: drop}
`
	report := func() string {
		s, err := scenarios.Read("in.yaml", strings.NewReader(text))
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, scenarios.WriteJSON(&out, []*scenarios.Result{scenarios.Run(t.Context(), s, sim.Backend{})}, scenarios.WaysAll))
		return out.String()
	}
	first := report()
	assert.Contains(t, first, `"passed": false`)
	for range 3 {
		require.Equal(t, first, report())
	}
}

// TestAScenarioIsRunAgainAndAtTheSameTime runs one scenario, whose steps change configurations, labels and processes: no
// run finds what another has left.
func TestAScenarioIsRunAgainAndAtTheSameTime(t *testing.T) {
	const text = `
name: everything changes
topology: {ipFamily: dual, nodes: [{zone: a, listen: [tcp 22]}, {zone: b, listen: [tcp 22], kubeProxy: {nodePortAddresses: [primary]}}]}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
   addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [192.168.0.3], nodeName: node2}]}
steps:
- connect: {from: 10.244.1.9, to: "tcp 172.30.0.41:80", as: first, expect: {endpoints: ["192.168.0.3:8080"], source: kept}}
- restart: [node1]
  kubeProxy: {iptables: {masqueradeAll: true}}
- connect: {from: 10.244.1.9, bind: ":40001", to: "tcp 172.30.0.41:80", expect: {endpoints: ["192.168.0.3:8080"], source: masqueraded}}
- node: {name: node1, labels: {topology.kubernetes.io/zone: null, new: label}}
- flow: {of: first, expect: delivered}
- connect: {from: node1, to: "tcp 192.168.0.3:22", expect: {answeredBy: node2}}
`
	s, err := scenarios.Read("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	results := make([]*scenarios.Result, 5)
	results[0] = scenarios.Run(t.Context(), s, sim.Backend{})
	var all sync.WaitGroup
	for i := range results[1:] {
		all.Go(func() { results[i+1] = scenarios.Run(t.Context(), s, sim.Backend{}) })
	}
	all.Wait()
	assert.False(t, results[0].Failed(), "%+v", results[0].Checks)
	assert.Len(t, results[0].Checks, 8)
	for _, again := range results[1:] {
		assert.Equal(t, results[0], again)
	}
}

// TestAMissingRuleIsSeen takes one rule away from under a scenario that holds,
// and looks for it in the report.
func TestAMissingRuleIsSeen(t *testing.T) {
	const text = `
name: hairpin without a masquerade rule
iptables: {tools: [legacy]}
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node1}]}
steps:
- connect: {from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080"], source: masqueraded}}
- fault: {node: node1, run: ["iptables -t nat -F KUBE-MARK-MASQ"]}
- connect: {from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080"], source: masqueraded}}
`
	s, err := scenarios.Read("in.yaml", strings.NewReader(text))
	require.NoError(t, err)
	result := scenarios.Run(t.Context(), s, sim.Backend{})
	require.Len(t, result.Checks, 2)
	assert.True(t, result.Checks[0].Passed)
	require.False(t, result.Checks[1].Passed)
	var report strings.Builder
	require.NoError(t, scenarios.WriteText(&report, []*scenarios.Result{result}, scenarios.WaysFailed))
	assert.Contains(t, report.String(), "in.yaml:11:65: tcp 172.30.0.41:80 from 10.244.1.2")
	assert.Contains(t, report.String(), "nat:KUBE-MARK-MASQ:return:1")
	assert.Contains(t, report.String(), "lost at 10.244.1.2: martian source")
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocumentedExamples runs every scenario of the README and of the format's documentation.
func TestDocumentedExamples(t *testing.T) {
	for _, name := range []string{"README.md", "docs/scenarios.md"} {
		page, err := os.ReadFile("../../../" + name)
		require.NoError(t, err)
		blocks := yamlBlock.FindAllStringSubmatch(string(page), -1)
		require.NotEmpty(t, blocks)
		head, _, _ := strings.Cut(blocks[0][1], "steps:\n")
		for _, block := range blocks {
			text := block[1]
			if strings.HasPrefix(text, "- ") {
				text = head + "steps:\n" + text
			}
			first, _, _ := strings.Cut(block[1], "\n")
			t.Run(first, func(t *testing.T) {
				s, err := scenarios.Read(name, strings.NewReader(text))
				require.NoError(t, err)
				mustHold(t, s)
			})
		}
	}
}
