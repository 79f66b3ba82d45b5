package trial

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
)

// What a sync with a fault has written may be there until the next one ends, also if that leads back to what was before.
func TestChangeTakenBackAfterAFault(t *testing.T) {
	s, err := scenarios.Read("back.yaml", strings.NewReader(`
name: taken back
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.2, ports: [{port: 80}]}}
steps:
- fault: {saveFails: 1}
- apply: [{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
    ports: [{port: 80}], endpoints: [{addresses: [10.244.1.10]}]}]
  syncMayFail: true
- {delete: [endpointslice default/web-1], syncMayFail: true}
`))
	require.NoError(t, err)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A sync that fails in conntrack alone has written the rules: the next one need not write them again, so what somebody changed in
// between stays until the next full sync.
func TestRulesChangedAfterASyncThatFailedInConntrackAlone(t *testing.T) {
	report, err := Run(t.Context(), read(t, cluster+`
- fault: {conntrackFails: 2}
- {restart: true, sync: true, syncMayFail: true}
- fault: {run: [iptables -t nat -F KUBE-SERVICES]}
- fault: {heal: true}
- {sync: true, syncMayFail: true}
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A proxier notices that the rules of a table are gone, though its chains are not.
func TestTableEmptiedByHand(t *testing.T) {
	for _, table := range []string{"nat", "filter"} {
		s := read(t, cluster+"- fault: {run: [iptables -t "+table+" -F]}\n- {sync: true}\n")
		report, err := Run(t.Context(), s, Options{})
		require.NoError(t, err)
		assert.Empty(t, report.Violations)

		report, err = Run(t.Context(), s, Options{Proxier: wrapping(func(p node.Proxy) node.Proxy { return careless{p} })})
		require.NoError(t, err)
		assert.NotEmpty(t, report.Violations)
	}
}

// careless does not look for a flush.
type careless struct{ node.Proxy }

// The first sync after a start writes everything, whatever was changed before.
func TestRulesChangedBeforeAProxierStarts(t *testing.T) {
	s := read(t, cluster+`
- fault: {run: [iptables -t nat -F KUBE-SERVICES]}
- {restart: true, kubeProxy: {iptables: {masqueradeBit: 15}}, sync: true}
- advance: 1s
`)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)

	report, err = Run(t.Context(), s, Options{Proxier: func(p node.Process) (node.Proxy, []string, error) {
		if p.Configuration.IPTables.MasqueradeBit != nil {
			p.Kernel.Exec = &edited{p.Kernel.Exec, func(input string) string { return strings.ReplaceAll(input, "-A KUBE-SERVICES", "#") }}
		}
		return node.Chainwalk(p)
	}})
	require.NoError(t, err)
	assert.Equal(t, 2, report.Violations[0].Step, "it is not taken for damaged any more")
}

// A sync with a fault to come may have forgotten the connections of an endpoint that is back by the time of the next one.
func TestEndpointAwayWhileAFaultIsToCome(t *testing.T) {
	const away, both = "{addresses: [10.244.1.53], nodeName: node1}",
		"{addresses: [10.244.1.53], nodeName: node1}, {addresses: [10.244.2.53], nodeName: node2}"
	s := read(t, cluster+`
- connect: {from: client, bind: ":20001", to: "udp 172.30.0.53:53", as: kept, pick: "10.244.2.53:53", expect: {endpoints: ["10.244.2.53:53"]}}
- fault: {saveFails: 1}
`+dns(away)+dns(both))
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// An endpoint that comes and goes again while a fault is to come: connections to it that are made within the sync in which it goes are
// forgotten before that ends.
func TestEndpointThereWhileAFaultIsToCome(t *testing.T) {
	slice := func(name, endpoints string) string {
		return "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: " + name +
			", labels: {kubernetes.io/service-name: dns}}, " +
			"addressType: IPv4, ports: [{port: 53, protocol: UDP}], endpoints: [" + endpoints + "]}"
	}
	report, err := Run(t.Context(), read(t, `
name: there for a while
objects:
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {type: NodePort, clusterIP: 172.30.0.2, ports: [{port: 53, protocol: UDP, nodePort: 30001}]}}
- `+slice("dns-1", "{addresses: [10.244.1.10]}")+`
steps:
- apply: [`+slice("dns-1", "")+`]
- fault: {saveFails: 1}
- {apply: [`+slice("dns-2", "{addresses: [10.244.2.10]}")+`], syncMayFail: true}
- delete: [endpointslice default/dns-2]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A sync that could not save what the kernel holds has written all the same. A failure with nothing left to write is no failure.
func TestFailureAfterASyncThatMayHaveWritten(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: nothing left
topology: {nodes: 1}
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
  endpoints: [{addresses: [10.244.1.10]}]
steps:
- fault: {saveFails: 2}
- advance: 3600s
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v4-1}
    addressType: IPv4
  syncMayFail: true
- fault: {lockHeld: 3}
- sync: true
  syncMayFail: true
- advance: 3600s
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// The rules of all nodes are flushed, and one of them mends its own while the service is away. Of that node's connections nothing is left
// when the service is back, though the other node's rules were damaged all the while.
func TestServiceAwayWhileRulesAreDamaged(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.2, ports: [{port: 80, protocol: UDP}]}}"
	report, err := Run(t.Context(), read(t, `name: away while rules are damaged
objects:
- `+service+`
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80, protocol: UDP}]
  endpoints: [{addresses: [10.244.1.10]}, {addresses: [10.244.2.10]}]
steps:
- fault: {flush: [nat]}
- {delete: [service default/web], sync: [node1]}
- apply: [`+service+`]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A sync of one service after the other fails, each in another way: table nat is the first one's, table filter the second one's, and the
// third one has written nothing.
func TestTablesOfTwoSyncsThatFailed(t *testing.T) {
	service := func(policy string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, clusterIP: 172.30.0.2, externalTrafficPolicy: " +
			policy +
			", ports: [{port: 80, nodePort: 30001}]}}"
	}
	slice := func(endpoints string) string {
		return "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}, " +
			"addressType: IPv4, ports: [{port: 80}], endpoints: [" + endpoints + "]}"
	}
	report, err := Run(t.Context(), read(t, `name: tables of two syncs
objects:
- `+service("Local")+`
- `+slice("{addresses: [10.244.2.10]}")+`
steps:
- fault: {saveFails: 2}
- {apply: [`+slice("")+`], syncMayFail: true}
- fault: {restoreFails: 1, commits: [filter]}
- {apply: [`+slice("{addresses: [10.244.1.10]}")+`], syncMayFail: true}
- fault: {lockHeld: 3}
- {apply: [`+service("Cluster")+`], syncMayFail: true}
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// One node's sync failed while the service was away, and the others' did not. Within their next ones, in which it comes back, it is open
// which of their connections go to it already.
func TestServiceAwayWhileAnotherNodeFails(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, clusterIP: 172.30.0.2, " +
		"ports: [{port: 80, protocol: UDP, nodePort: 30001}]}}"
	s := read(t, `name: away while another node fails
objects:
- `+service+`
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80, protocol: UDP}]
  endpoints: [{addresses: [10.244.1.10]}, {addresses: [10.244.2.10]}]
steps:
- fault: {restoreFails: 1, node: node1}
- {delete: [service default/web], syncMayFail: true}
- {apply: [`+service+`], syncMayFail: true}
`)
	s.Steps[2].Apply[0] = s.Objects[0] // the very same object, as generated cases have it
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A sync in doubt may have left rules of mode nftables that refuse packets to a cluster IP. Within the next sync, which takes the service
// away again, a flow to that address that nobody answers may still meet them.
func TestFlowWithinASyncThatFollowsOneInDoubt(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.1, ports: [{port: 80}]}}"
	report, err := Run(t.Context(), read(t, `name: a sync in doubt
topology: {nodes: 1, pods: [{name: client, node: node1}]}
kubeProxy: {mode: nftables}
objects: [`+service+`]
steps:
- delete: [service default/web]
- connect: {from: client, bind: ':20001', to: 'udp 172.30.0.1:80', as: kept, expect: untouched}
- fault: {saveFails: 2}
- {apply: [`+service+`], syncMayFail: true}
- delete: [service default/web]
  during:
  - {node: node1, after: nft, nth: 1, steps: [{flow: {of: kept, from: client, send: data, expect: untouched}}]}
  syncMayFail: true
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}
