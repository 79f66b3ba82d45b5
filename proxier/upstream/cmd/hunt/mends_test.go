package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/proxier/upstream/peers"
	"github.com/chainwalk/chainwalk/scenarios/search/trial"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// podGone is a case of mode nftables in which a pod goes, and with it a device that had the address of the pods' gateway. No rule names it.
const podGone = `name: a pod that goes
topology: {nodes: 1, pods: [{name: client1, node: node1}]}
kubeProxy: {mode: nftables}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.2, ports: [{name: http, port: 80}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: http, port: 80}]
  endpoints: [{addresses: [10.244.1.10], nodeName: node1}]
steps:
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
    addressType: IPv4
    ports: [{name: http, port: 80}]
    endpoints: []
- stop: [10.244.1.10]
- sync: true
`

// TestMendsWriteNothingForPodsThatGo has the mend of addresses leave alone those that no rule names: a full sync would write for nothing.
func TestMendsWriteNothingForPodsThatGo(t *testing.T) {
	s := scenario(t, podGone)
	for _, set := range []peers.Mends{peers.MendsOf(peers.AddressesNoticed, peers.SameNotRestored), peers.AllMends()} {
		report, err := trial.Run(t.Context(), s, trial.Options{Proxier: peers.Mended(set), Stop: all})
		require.NoError(t, err)
		for _, f := range report.Violations {
			assert.NotEqual(t, oracle.SecondSyncWritesNothing, f.Clause, "%s: %s", set, f.Got)
		}
	}
}

// affinityChanges is a case of mode nftables in which nothing changes but the time for which a service remembers its clients. No rule says it.
const affinityChanges = `name: another time of affinity
topology: {nodes: 1}
kubeProxy: {mode: nftables}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.2, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, ports: [{port: 80}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80}]
  endpoints: [{addresses: [10.244.1.10], nodeName: node1}, {addresses: [10.244.1.11], nodeName: node1}]
steps:
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {clusterIP: 172.30.0.2, sessionAffinity: ClientIP, ports: [{port: 80}]}
- sync: true
`

// TestMendsWriteTheTimeOfAffinity has the mend of restores write a set that has another timeout, as kube-proxy does.
func TestMendsWriteTheTimeOfAffinity(t *testing.T) {
	s := scenario(t, affinityChanges)
	for _, set := range []peers.Mends{peers.Placebo, peers.MendsOf(peers.SameNotRestored), peers.AllMends()} {
		report, err := trial.Run(t.Context(), s, trial.Options{Proxier: peers.Mended(set), Stop: all, Except: []*oracle.Clause{
			oracle.NoSyncForNothing, oracle.SecondSyncWritesNothing, oracle.CostByChange,
		}})
		require.NoError(t, err)
		assert.Empty(t, report.Violations, set.String())
	}
}

// flowsOfOneFamily is a case of mode nftables in which a service of IPv4 that speaks UDP has endpoints of IPv6, one of which goes and comes.
const flowsOfOneFamily = `name: endpoints of the other family
topology: {ipFamily: dual, nodes: [{name: node1}, {name: node2}], pods: [{name: client1, node: node1}]}
kubeProxy: {mode: nftables}
objects:
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v6-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv6
  ports: [{name: "", port: 8080}]
  endpoints: [{addresses: ['fd00:10:244:1::10'], nodeName: node1}, {addresses: ['fd00:10:244:1::b'], nodeName: node1}]
steps:
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {clusterIP: 172.30.0.8, ports: [{port: 80, protocol: UDP, targetPort: 8080}]}
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v6-1, labels: {kubernetes.io/service-name: web}}
    addressType: IPv6
    ports: [{name: "", port: 8080}]
    endpoints: [{addresses: ['fd00:10:244:1::b'], nodeName: node1}]
  sync: [node2]
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v6-1, labels: {kubernetes.io/service-name: web}}
    addressType: IPv6
    ports: [{name: "", port: 8080}]
    endpoints: [{addresses: ['fd00:10:244:1::10'], nodeName: node1}, {addresses: ['fd00:10:244:1::b'], nodeName: node1}]
- sync: true
`

// TestMendsLookForFlowsOfTheFamilyOnly: a change of a service of IPv4 is none for kube-proxy of IPv6, which would look through conntrack at
// its next sync.
func TestMendsLookForFlowsOfTheFamilyOnly(t *testing.T) {
	s := scenario(t, flowsOfOneFamily)
	report, err := trial.Run(t.Context(), s, trial.Options{Proxier: peers.Mended(peers.AllMends()), Stop: all})
	require.NoError(t, err)
	for _, f := range report.Violations {
		assert.NotEqual(t, oracle.CostByChange, f.Clause, f.Got)
	}
}
