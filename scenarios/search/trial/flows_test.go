package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of a flow in doubt, all is allowed that a first packet may meet: to an external IP without endpoints, from the node itself, that is
// several things.
func TestFlowInDoubtToAnAddressThatIsOpen(t *testing.T) {
	s := read(t, `
name: in doubt
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.2, externalIPs: [198.51.100.1], internalTrafficPolicy: Local,
   ports: [{port: 53, protocol: UDP}]}}
- &slice {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}}, addressType: IPv4,
   ports: [{port: 53, protocol: UDP}], endpoints: [{addresses: [192.0.2.18]}]}
steps:
- connect: {from: node1, bind: ":20001", to: "udp 198.51.100.1:53", as: kept1, pick: "192.0.2.18:53", expect: {endpoints: ["192.0.2.18:53"]}}
- apply: [{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: dns-1}, addressType: IPv4}]
- flow: {of: kept1, from: client, send: data, expect: {anyOf: [reject, untouched]}}
`)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A client may go to another endpoint where slices contradict each other about the one that it had.
func TestAffinityToAnEndpointInDoubt(t *testing.T) {
	const slice = "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{port: 80}], "
	report, err := Run(t.Context(), read(t, `
name: in doubt
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.3, sessionAffinity: ClientIP, ports: [{port: 80}]}}
- `+slice+`metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, `+
		`endpoints: [{addresses: [10.244.1.10]}, {addresses: [10.244.1.11]}]}
steps:
- apply: [`+slice+`metadata: {name: web-3, labels: {kubernetes.io/service-name: web}},
    endpoints: [{addresses: [10.244.1.10], conditions: {ready: false}}]}]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A datagram to an address that is no service's, before and after, may be led to the service that a failed sync knew in between.
func TestFlowToWhatAFailedSyncServed(t *testing.T) {
	const ports = "ports: [{name: http, port: 80, protocol: UDP}]"
	report, err := Run(t.Context(), read(t, `
name: in between
topology: {ipFamily: dual, nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web, labels: {service.kubernetes.io/service-proxy-name: another}}, spec: {clusterIP: "fd00:30::1",
   ports: [{port: 80, protocol: UDP}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-v6-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv6,
   `+ports+`, endpoints: [{addresses: ["fd00:10:244:1::a"]}]}
steps:
- fault: {lockHeld: 3}
- {apply: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIPs: [172.30.0.2, "fd00:30::1"], `+
		ports+`}}], syncMayFail: true}
- delete: [service default/web]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A proxier that has not synced since it started does not know of the UDP connections that come by the rules of the one before it: those of
// a service that goes before its first sync stay as they are.
func TestConnectionsMadeBeforeAProxierSyncs(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: between two proxiers
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.2, ports: [{name: http, port: 9153, protocol: UDP}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: http, port: 80, protocol: UDP}]
  endpoints: [{addresses: [10.244.2.10]}]
steps:
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {clusterIP: 172.30.0.2, externalIPs: [198.51.100.1], ports: [{name: http, port: 80, protocol: UDP}]}
  sync: [node1]
- {restart: true, sync: [node2]}
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {clusterIP: 172.30.0.2, ports: [{port: 80}]}
- advance: 1s
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// Two services claim an address. What one of them loses may be deleted from conntrack, whichever of them the address is taken for.
func TestConnectionsToAnAddressOfTwoServices(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: one address
topology: {nodes: 1}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.3, externalIPs: [198.51.100.1], ports: [{name: http, port: 80, protocol: UDP}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: http, port: 80, protocol: UDP}]
  endpoints: [{addresses: [10.244.1.10]}]
steps:
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: dns}
    spec: {clusterIP: 172.30.0.2, externalIPs: [198.51.100.1], ports: [{port: 80, protocol: UDP}]}
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v4-1}
    addressType: IPv4
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A node hears late of a service, a datagram of its own has gone on to another node that translated it. Once it knows, the flow may begin
// anew at the node itself.
func TestFlowsThatAnotherNodeDecidesAbout(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: another decider
objects:
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: dns, port: 80, protocol: UDP}]
  endpoints: [{addresses: [10.244.2.10]}]
steps:
- hold: [node2]
- apply:
  - apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {clusterIP: 172.30.0.2, externalIPs: [192.168.0.2], ports: [{name: dns, port: 80, protocol: UDP}]}
- hold: false
  sync: true
- sync: true
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

// A node knows no endpoint any more, so it may leave to another node what its processes send. Rules of others drop what that one has
// translated before it comes to the endpoint: nobody answers it, and the next datagram has no mark any more by which it would pass there.
func TestFlowThatAnotherNodeTakesOver(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: taken over
topology: {nodes: [{extraAddresses: [192.168.1.2]}, {}]}
iptables:
  preload:
  - save: |
      *filter
      :FORWARD DROP [0:0]
      COMMIT
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {type: LoadBalancer, clusterIP: 172.30.0.2, ports: [{port: 80, protocol: UDP}]}
  status: {loadBalancer: {ingress: [{ip: 192.168.1.2}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80, protocol: UDP}]
  endpoints: [{addresses: [10.244.2.10]}]
steps:
- connect: {from: node2, bind: ':20001', to: 'udp 192.168.1.2:80', as: kept, pick: '10.244.2.10:80', expect: {endpoints: ['10.244.2.10:80']}}
- flow: {of: kept, from: server, send: data, expect: delivered}
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v4-1}
    addressType: IPv4
  sync: [node2]
- flow: {of: kept, from: client, send: data, expect: {anyOf: [{endpoints: ['10.244.2.10:80']}, reject, drop]}}
- flow: {of: kept, from: client, send: data, expect: {anyOf: [{endpoints: ['10.244.2.10:80']}, reject, drop]}}
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}
