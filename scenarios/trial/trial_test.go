package trial

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/node"
)

// The proxier is sound in everything that the shipped scenarios do.
func TestShippedScenariosHold(t *testing.T) {
	all, err := scenarios.Load("../testdata/cases")
	require.NoError(t, err)
	var sum Figures
	for _, s := range race.Some(all, 12) {
		t.Run(s.Name, func(t *testing.T) {
			report, err := Run(t.Context(), s, Options{})
			require.NoError(t, err)
			sum.Merge(&report.Figures)
			for _, f := range report.Findings {
				assert.Fail(t, f.Clause.Name, "%s: step %d %s %v %+v\nwant %s\ngot  %s", s.Pos.File, f.Step, f.Node, f.Point, f.Attempt, f.Want, f.Got)
			}
		})
	}
	t.Logf("%+v", sum)
}

// The port beside port 1 is none that a client can call.
func TestServiceOnPortOne(t *testing.T) {
	s, err := scenarios.Read("port-one.yaml", strings.NewReader(`
name: port one
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 1}]}}
steps:
- sync: true
`))
	require.NoError(t, err)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

// The same case gives the same report, with its findings and figures.
func TestReportsAreTheSame(t *testing.T) {
	s := read(t, cluster+web("")+dns("")+webGoes)
	proxier := without(`-j REJECT`)
	first, err := Run(t.Context(), s, Options{Proxier: proxier, Stop: 100, Rules: true})
	require.NoError(t, err)
	require.NotEmpty(t, first.Findings)
	for range 3 {
		again, err := Run(t.Context(), s, Options{Proxier: proxier, Stop: 100, Rules: true})
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

// A case that cannot be run is an error and no finding.
func TestCasesOutOfOrder(t *testing.T) {
	_, err := Run(t.Context(), &scenarios.Scenario{Topology: scenarios.Topology{Pods: []scenarios.Pod{{Name: "p", Node: "nowhere"}}}}, Options{})
	require.ErrorContains(t, err, "nowhere")

	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = Run(ctx, read(t, cluster+nothing), Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// /healthz need not tell of syncs that fail though nothing waits for them, nor of those that failed after the rules were written.
func TestHealthOfSyncsThatNeedNotBeTold(t *testing.T) {
	const head = "name: health\ntopology: {nodes: 1}\n"
	const object = "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.2, ports: [{port: 80}]}}"
	const of = "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [10.244.1.10]}]"
	for _, c := range []struct{ name, steps string }{
		{"a full sync that writes the same", `
- advance: 3600s
- fault: {restoreFails: 1}
- {apply: [` + object + `], syncMayFail: true}
- advance: 3600s
`},
		{"a slice of no service", `
- fault: {lockHeld: 3}
- {apply: [` + of + `, metadata: {name: web-1}}], syncMayFail: true}
- advance: 3600s
`},
		{"canaries", `
- fault: {lockHeld: 3}
- {apply: [` + of + `, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}}], syncMayFail: true}
- advance: 3600s
- {sync: true, syncMayFail: true}
- fault: {heal: true}
`},
		{"a search in conntrack", `
- apply: [{apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.3, ports: [{port: 53, protocol: UDP}]}}]
- fault: {conntrackFails: 9}
- {delete: [service default/dns], syncMayFail: true}
- advance: 300s
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := scenarios.Read("health.yaml", strings.NewReader(head+"objects: ["+object+"]\nsteps:"+c.steps))
			require.NoError(t, err)
			report, err := Run(t.Context(), s, Options{})
			require.NoError(t, err)
			assert.Empty(t, report.Findings)
		})
	}
}

// A proxier that has not synced since it started knows nothing of a service that is deleted before it does.
func TestServiceGoneBeforeTheFirstSync(t *testing.T) {
	s, err := scenarios.Read("restart.yaml", strings.NewReader(`
name: restart
objects:
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.10, ports: [{port: 53, protocol: UDP}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}}
  addressType: IPv4
  ports: [{port: 53, protocol: UDP}]
  endpoints: [{addresses: [10.244.2.10]}]
steps:
- connect: {from: node1, bind: ":20001", to: "udp 172.30.0.10:53", as: kept1, expect: {endpoints: ["10.244.2.10:53"]}}
- {restart: true, sync: [node2]}
- delete: [service default/dns]
- flow: {of: kept1, from: client, send: data, expect: untouched}
`))
	require.NoError(t, err)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

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
	assert.Empty(t, report.Findings)
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
	assert.Empty(t, report.Findings)
}

// A proxier notices that the rules of a table are gone, though its chains are not.
func TestTableEmptiedByHand(t *testing.T) {
	for _, table := range []string{"nat", "filter"} {
		s := read(t, cluster+"- fault: {run: [iptables -t "+table+" -F]}\n- {sync: true}\n")
		report, err := Run(t.Context(), s, Options{})
		require.NoError(t, err)
		assert.Empty(t, report.Findings)

		report, err = Run(t.Context(), s, Options{Proxier: wrapping(func(p node.Proxy) node.Proxy { return careless{p} })})
		require.NoError(t, err)
		assert.NotEmpty(t, report.Findings)
	}
}

// careless does not look for a flush.
type careless struct{ node.Proxy }

func (careless) EnsureCanaries() error { return nil }

// The first sync after a start writes everything, whatever was changed before.
func TestRulesChangedBeforeAProxierStarts(t *testing.T) {
	s := read(t, cluster+`
- fault: {run: [iptables -t nat -F KUBE-SERVICES]}
- {restart: true, kubeProxy: {iptables: {masqueradeBit: 15}}, sync: true}
- advance: 1s
`)
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)

	report, err = Run(t.Context(), s, Options{Proxier: func(p node.Process) (node.Proxy, []string, error) {
		if p.Configuration.IPTables.MasqueradeBit != nil {
			p.Kernel.Exec = &edited{p.Kernel.Exec, func(input string) string { return strings.ReplaceAll(input, "-A KUBE-SERVICES", "#") }}
		}
		return node.Chainwalk(p)
	}})
	require.NoError(t, err)
	assert.Equal(t, 2, report.Findings[0].Step, "it is not taken for damaged any more")
}

// A case that takes far too much work is an error, by a count and not by a clock.
func TestCasesThatTakeTooMuch(t *testing.T) {
	p, err := playOf(read(t, cluster+nothing), Options{})
	require.NoError(t, err)
	p.limit = 100
	_, err = p.run(t.Context())
	require.EqualError(t, err, "the case takes more than 100 ways to judge, at step 0")
}

// Of a flow in doubt, all is allowed that a first packet may meet: to an external IP without endpoints, from the node itself, that is several
// things.
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
	assert.Empty(t, report.Findings)
}

// A client may go to another endpoint where slices contradict each other about the one that it had.
func TestAffinityToAnEndpointInDoubt(t *testing.T) {
	const slice = "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{port: 80}], "
	report, err := Run(t.Context(), read(t, `
name: in doubt
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.3, sessionAffinity: ClientIP, ports: [{port: 80}]}}
- `+slice+`metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, endpoints: [{addresses: [10.244.1.10]}, {addresses: [10.244.1.11]}]}
steps:
- apply: [`+slice+`metadata: {name: web-3, labels: {kubernetes.io/service-name: web}},
    endpoints: [{addresses: [10.244.1.10], conditions: {ready: false}}]}]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
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
- {apply: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIPs: [172.30.0.2, "fd00:30::1"], `+ports+`}}], syncMayFail: true}
- delete: [service default/web]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
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
	assert.Empty(t, report.Findings)
}

// A sync with a fault to come may have forgotten the connections of an endpoint that is back by the time of the next one.
func TestEndpointAwayWhileAFaultIsToCome(t *testing.T) {
	const away, both = "{addresses: [10.244.1.53], nodeName: node1}", "{addresses: [10.244.1.53], nodeName: node1}, {addresses: [10.244.2.53], nodeName: node2}"
	s := read(t, cluster+`
- connect: {from: client, bind: ":20001", to: "udp 172.30.0.53:53", as: kept, pick: "10.244.2.53:53", expect: {endpoints: ["10.244.2.53:53"]}}
- fault: {saveFails: 1}
`+dns(away)+dns(both))
	report, err := Run(t.Context(), s, Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

// An endpoint that comes and goes again while a fault is to come: connections to it that are made within the sync in which it goes are forgotten
// before that ends.
func TestEndpointThereWhileAFaultIsToCome(t *testing.T) {
	slice := func(name, endpoints string) string {
		return "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: " + name + ", labels: {kubernetes.io/service-name: dns}}, " +
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
	assert.Empty(t, report.Findings)
}

// In a large cluster chains out of use wait for the sync period. If a slow restore lets it pass, the next sync deletes them.
func TestSlowRestoreInALargeCluster(t *testing.T) {
	var ports, slicePorts, endpoints strings.Builder
	for i := range 15 {
		fmt.Fprintf(&ports, "{name: p%d, port: %d}, ", i, 1000+i)
		fmt.Fprintf(&slicePorts, "{name: p%d, port: %d}, ", i, 2000+i)
	}
	for i := range 70 {
		fmt.Fprintf(&endpoints, "{addresses: [10.244.1.%d]}, ", 100+i)
	}
	text := fmt.Sprintf(`name: large
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: big}, spec: {clusterIP: 172.30.0.2, ports: [%s]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: big, labels: {kubernetes.io/service-name: big}}, addressType: IPv4,
    ports: [%s], endpoints: [%s]}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.3, ports: [{port: 80}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
    ports: [{port: 80}], endpoints: [{addresses: [10.244.1.11]}]}
steps:
- fault: {restoreTakes: 60s}
- apply:
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
      ports: [{port: 80}], endpoints: []}
  syncMayFail: true
`, &ports, &slicePorts, &endpoints)
	report, err := Run(t.Context(), read(t, text), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
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
	assert.Empty(t, report.Findings)
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
	assert.Empty(t, report.Findings)
}

// In a large cluster chains that are out of use wait, and go with a sync of something else.
func TestChainsThatWaitedGoWithAnotherSync(t *testing.T) {
	cluster := func(name, ip string, ports int) (service string, slice func(endpoints int) string) {
		var own, of strings.Builder
		for i := range ports {
			fmt.Fprintf(&own, "      - {name: p%d, port: %d}\n", i, 1000+i)
			fmt.Fprintf(&of, "    - {name: p%d, port: 80}\n", i)
		}
		service = fmt.Sprintf("  - apiVersion: v1\n    kind: Service\n    metadata: {name: %s}\n    spec:\n      clusterIP: %s\n      ports:\n%s", name, ip, own.String())
		return service, func(endpoints int) string {
			var all strings.Builder
			for i := range endpoints {
				fmt.Fprintf(&all, "    - {addresses: [10.244.1.%d]}\n", 10+i)
			}
			return fmt.Sprintf("  - apiVersion: discovery.k8s.io/v1\n    kind: EndpointSlice\n    addressType: IPv4\n"+
				"    metadata: {name: %s, labels: {kubernetes.io/service-name: %s}}\n    ports:\n%s    endpoints:\n%s", name, name, of.String(), all.String())
		}
	}
	big, bigSlice := cluster("big", "172.30.0.2", 15)
	rest, restSlice := cluster("rest", "172.30.0.4", 15)
	web, webSlice := cluster("web", "172.30.0.3", 1)
	report, err := Run(t.Context(), read(t, "name: large\ntopology: {nodes: 1}\nobjects:\n"+big+rest+web+bigSlice(70)+restSlice(70)+webSlice(1)+
		"steps:\n- apply:\n"+bigSlice(1)+"- advance: 60s\n- apply:\n"+webSlice(2)), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
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
	assert.Empty(t, report.Findings)
}

// A node gets another address, and its node ports are not there yet. The sync that brings them commits what drops packets of policy Local
// before what translates them.
func TestNodePortsOfANewAddressWithinASync(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: another address
topology: {nodes: 1}
kubeProxy: {nodePortAddresses: [192.168.0.0/24]}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec:
    type: NodePort
    clusterIP: 172.30.0.3
    externalTrafficPolicy: Local
    ports: [{name: dns, port: 80, nodePort: 30001}]
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{name: dns, port: 80}]
  endpoints: [{addresses: [10.244.1.10], nodeName: node1}]
steps:
- node: {name: node1, addresses: [192.168.0.4]}
  sync: false
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
    addressType: IPv4
    ports: [{name: dns, port: 80}]
    endpoints: [{addresses: [10.244.1.11]}]
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

// Two services claim an address, and whose it is, is open. Of neither need an answer be heard where rules of others were lost.
func TestAnAddressOfTwoServicesBehindAPolicyOfDrop(t *testing.T) {
	report, err := Run(t.Context(), read(t, `name: two claim an address
topology: {nodes: 1}
iptables:
  preload:
  - save: |
      *filter
      :INPUT DROP [0:0]
      -A INPUT -i lo -j ACCEPT
      -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      -A INPUT -p icmp -j ACCEPT
      -A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
      COMMIT
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {clusterIP: 172.30.0.2, externalIPs: [192.168.0.2], ports: [{port: 80}]}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80}]
  endpoints: [{addresses: [10.244.1.10]}]
- apiVersion: v1
  kind: Service
  metadata: {name: dns}
  spec: {clusterIP: 172.30.0.3, externalIPs: [192.168.0.2], ports: [{port: 80}]}
steps:
- fault: {flush: [filter]}
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}

// The rules of all nodes are flushed, and one of them mends its own while the service is away. Of that node's connections nothing is left when
// the service is back, though the other node's rules were damaged all the while.
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
	assert.Empty(t, report.Findings)
}

// A sync of one service after the other fails, each in another way: table nat is the first one's, table filter the second one's, and the
// third one has written nothing.
func TestTablesOfTwoSyncsThatFailed(t *testing.T) {
	service := func(policy string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, clusterIP: 172.30.0.2, externalTrafficPolicy: " + policy +
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
	assert.Empty(t, report.Findings)
}

// A node knows no endpoint any more, so it may leave to another node what its processes send. Rules of others drop what that one has translated
// before it comes to the endpoint: nobody answers it, and the next datagram has no mark any more by which it would pass there.
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
	assert.Empty(t, report.Findings)
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
	assert.Empty(t, report.Findings)
}

// A node port becomes a health check node port of the service. The node that is called opens it with its own sync, whatever the node that
// sends the packet there knows by then.
func TestHealthPortThatTheSendersNodeDoesNotKnow(t *testing.T) {
	service := func(spec string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.2, " + spec + "}}"
	}
	report, err := Run(t.Context(), read(t, `name: a health check node port
topology: {pods: [{name: client, node: node2}]}
kubeProxy: {nodePortAddresses: [127.0.0.1/32]}
iptables:
  preload:
  - nodes: [node1]
    save: |
      *filter
      :INPUT DROP [0:0]
      -A INPUT -i lo -j ACCEPT
      -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      COMMIT
objects:
- `+service("type: NodePort, ports: [{port: 80, nodePort: 30001}]")+`
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-v4-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 80}]
  endpoints: [{addresses: [10.244.1.10], nodeName: node1}]
steps:
- apply:
  - `+service("type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 30001, ports: [{port: 80, nodePort: 30003}]")+`
`), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
}
