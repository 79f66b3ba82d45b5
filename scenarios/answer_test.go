package scenarios_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/plan"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

// everyFate has services whose packets reach endpoints, are rejected, dropped, refused and masqueraded.
const everyFate = `
name: every fate
iptables: {tools: [legacy]}
topology:
  nodes: 2
  pods: [{name: client, node: node1}, {name: closed, node: node2, addresses: [10.244.2.9], listen: []}]
  outside: [{name: internet, addresses: [203.0.113.2]}, {name: neighbour, addresses: [192.168.0.99]}]
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer, clusterIP: 172.30.0.41, externalTrafficPolicy: Local,
   healthCheckNodePort: 30999, loadBalancerSourceRanges: [203.0.113.0/24], ports: [{port: 80, nodePort: 30080}]},
   status: {loadBalancer: {ingress: [{ip: 203.0.113.80}]}}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
   addressType: IPv4, ports: [{port: 8080}],
   endpoints: [{addresses: [10.244.2.2], nodeName: node2}, {addresses: [10.244.2.3], nodeName: node2}]}
- {apiVersion: v1, kind: Service, metadata: {name: none}, spec: {type: NodePort, clusterIP: 172.30.0.42, externalIPs: [198.51.100.7],
   ports: [{port: 80, nodePort: 30081}]}}
- {apiVersion: v1, kind: Service, metadata: {name: shut}, spec: {clusterIP: 172.30.0.43, ports: [{port: 80}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: shut-1, labels: {kubernetes.io/service-name: shut}},
   addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.2.9], nodeName: node2}]}
steps:
- sync: false
`

// TestWhatTheOracleSaysHoldsAsExpectations runs the answers to all attempts as cases of a scenario.
func TestWhatTheOracleSaysHoldsAsExpectations(t *testing.T) {
	s, err := scenarios.Read("in.yaml", strings.NewReader(everyFate))
	require.NoError(t, err)
	cluster, err := scenarios.Resolve(s)
	require.NoError(t, err)
	spec := oracle.New(plan.Of(cluster).Oracle(cluster.Objects))
	words := map[string]int{}
	step := scenarios.Step{}
	for _, a := range spec.Attempts() {
		answer := spec.Expect(a)
		expect, ok := scenarios.ExpectOf(&answer)
		if !ok {
			assert.True(t, answer.Open || answer.Loose || len(answer.Others) > 0, "%s: %s", a, &answer)
			words["unsaid"]++
			continue
		}
		words[word(&expect)]++
		step.Cases = append(step.Cases, scenarios.Connect{
			Name: fmt.Sprint(a), From: a.From, Via: a.Via, Bind: scenarios.Bind{Addr: a.Source.Addr(), Port: a.Source.Port()},
			To:     scenarios.Target{Proto: strings.ToLower(string(a.Protocol)), AddrPort: a.To},
			Expect: expect,
		})
	}
	for _, want := range []string{"endpoints", "refused", "reject", "drop", "answered", "untouched"} {
		assert.Positive(t, words[want], "%s of %v", want, words)
	}
	made := *s
	made.Steps = []scenarios.Step{step}
	var text strings.Builder
	require.NoError(t, scenarios.Write(&text, &made))
	again, err := scenarios.Read("in.yaml", strings.NewReader(text.String()))
	require.NoError(t, err)
	result := scenarios.Run(t.Context(), again, sim.Backend{})
	require.Len(t, result.Checks, len(step.Cases))
	for i := range result.Checks {
		c := &result.Checks[i]
		assert.True(t, c.Passed, "%s: want %s, got %s: %s", c.Name, c.Expected, c.Got, c.Wrong)
	}
}

func word(e *scenarios.Expect) string {
	switch {
	case len(e.AnyOf) > 0:
		return "several"
	case e.AnsweredBy != "":
		return "answered"
	case e.RefusedBy != "":
		return "refused"
	case e.Reject.Wanted:
		return "reject"
	case e.Drop.Wanted:
		return "drop"
	case e.Untouched:
		return "untouched"
	}
	return "endpoints"
}
