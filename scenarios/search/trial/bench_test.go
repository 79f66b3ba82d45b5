package trial_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
)

// smallStates are a cluster of three nodes and two services, whose endpoints change.
const smallStates = `
name: small states
topology:
  nodes: 3
  outside: [{name: client, addresses: [203.0.113.2]}]
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer, clusterIP: 172.30.0.41,
   ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}, status: {loadBalancer: {ingress: [{ip: 198.51.100.8}]}}}
- &both {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
   addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node1}, {addresses: [10.244.2.2], nodeName: node2}]}
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.42, ports: [{port: 53, protocol: UDP}]}}
- &dns {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}},
   addressType: IPv4, ports: [{port: 53, protocol: UDP}], endpoints: [{addresses: [10.244.3.9], nodeName: node3}]}
steps:
- apply: &one
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}},
     addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.244.1.2], nodeName: node1}]}
- apply: &none
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}},
     addressType: IPv4, ports: [{port: 53, protocol: UDP}], endpoints: []}
- apply: [*both]
- apply: [*dns]
- apply: *one
- apply: *none
- apply: [*both]
- apply: [*dns]
`

// BenchmarkSmallStates judges them, within every sync and after it.
func BenchmarkSmallStates(b *testing.B) {
	s, err := scenarios.Read("small.yaml", strings.NewReader(smallStates))
	require.NoError(b, err)
	benchTrials(b, []*scenarios.Scenario{s})
}

// BenchmarkGeneratedCases judges what the generator makes.
func BenchmarkGeneratedCases(b *testing.B) {
	var all []*scenarios.Scenario
	for seed := range uint64(100) {
		all = append(all, gen.Example(gen.Options{}, seed))
	}
	benchTrials(b, all)
}

// benchTrials holds the laws that cost most after a sample of syncs, another one each time, as the search does.
func benchTrials(b *testing.B, all []*scenarios.Scenario) {
	ctx := klog.NewContext(context.Background(), klog.New(nil))
	var sum trial.Figures
	violations := 0
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		report, err := trial.Run(ctx, all[n%len(all)], trial.Options{Sample: uint64(n + 1)})
		require.NoError(b, err)
		violations += len(report.Violations)
		sum.Merge(&report.Figures)
	}
	b.ReportMetric(float64(violations), "findings")
	b.ReportMetric(float64(sum.States)/b.Elapsed().Seconds(), "states/s")
	b.ReportMetric(float64(sum.Connections)/b.Elapsed().Seconds(), "connections/s")
}
