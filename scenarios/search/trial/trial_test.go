package trial

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/internal/sample"
	"github.com/chainwalk/chainwalk/scenarios"
)

// shipped are the scenarios that come with the project.
var shipped = sync.OnceValues(func() ([]*scenarios.Scenario, error) { return scenarios.Load("../../testdata/cases") })

// The proxier is sound in everything that the shipped scenarios do.
func TestShippedScenariosHold(t *testing.T) {
	all, err := shipped()
	require.NoError(t, err)
	var sum Figures
	for _, s := range race.Some(sample.Some(t, all, 8), 2) {
		t.Run(s.Name, func(t *testing.T) {
			report, err := Run(t.Context(), s, Options{})
			require.NoError(t, err)
			sum.Merge(&report.Figures)
			for _, f := range report.Violations {
				assert.Fail(t, f.Clause.Name, "%s: step %d %s %v %+v\nwant %s\ngot  %s", s.Pos.File, f.Step, f.Node, f.Point, f.attempt, f.Want, f.Got)
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
	assert.Empty(t, report.Violations)
}

// The same case gives the same report, with its violations and figures.
func TestReportsAreTheSame(t *testing.T) {
	s := read(t, cluster+web("")+dns("")+webGoes)
	proxier := without(`-j REJECT`)
	first, err := Run(t.Context(), s, Options{Proxier: proxier, Stop: 100, Rules: true})
	require.NoError(t, err)
	require.NotEmpty(t, first.Violations)
	for range 3 {
		again, err := Run(t.Context(), s, Options{Proxier: proxier, Stop: 100, Rules: true})
		require.NoError(t, err)
		require.Equal(t, first, again)
	}
}

// A case that cannot be run is an error and no violation.
func TestCasesOutOfOrder(t *testing.T) {
	_, err := Run(t.Context(), &scenarios.Scenario{Topology: scenarios.Topology{Pods: []scenarios.Pod{{Name: "p", Node: "nowhere"}}}},
		Options{})
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
	const of = "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{port: 80}], " +
		"endpoints: [{addresses: [10.244.1.10]}]"
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
			assert.Empty(t, report.Violations)
		})
	}
}

// A proxier that has not synced since it started does not know a service that is deleted before it does.
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
	assert.Empty(t, report.Violations)
}

func (careless) EnsureCanaries() error { return nil }

// A case that takes far too much work is an error, by a count and not by a clock.
func TestCasesThatTakeTooMuch(t *testing.T) {
	p, err := playOf(read(t, cluster+nothing), Options{})
	require.NoError(t, err)
	p.limit = 100
	_, err = p.run(t.Context())
	require.EqualError(t, err, "the case takes more than 100 ways to judge, at step 0")
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
	assert.Empty(t, report.Violations)
}

// In a large cluster chains that are out of use wait, and go with a sync of something else. It is rest that makes the cluster large.
func TestChainsThatWaitedGoWithAnotherSync(t *testing.T) {
	cluster := func(name, ip string, ports int) (service string, slice func(endpoints int) string) {
		var own, of strings.Builder
		for i := range ports {
			fmt.Fprintf(&own, "      - {name: p%d, port: %d}\n", i, 1000+i)
			fmt.Fprintf(&of, "    - {name: p%d, port: 80}\n", i)
		}
		service = fmt.Sprintf("  - apiVersion: v1\n    kind: Service\n    metadata: {name: %s}\n    spec:\n      clusterIP: %s\n      ports:\n%s",
			name, ip, own.String())
		return service, func(endpoints int) string {
			var all strings.Builder
			for i := range endpoints {
				fmt.Fprintf(&all, "    - {addresses: [10.244.1.%d]}\n", 10+i)
			}
			return fmt.Sprintf("  - apiVersion: discovery.k8s.io/v1\n    kind: EndpointSlice\n    addressType: IPv4\n"+
				"    metadata: {name: %s, labels: {kubernetes.io/service-name: %s}}\n    ports:\n%s    endpoints:\n%s", name, name, of.String(),
				all.String())
		}
	}
	few, fewSlice := cluster("few", "172.30.0.2", 3)
	rest, restSlice := cluster("rest", "172.30.0.4", 15)
	web, webSlice := cluster("web", "172.30.0.3", 1)
	report, err := Run(t.Context(),
		read(t, "name: large\ntopology: {nodes: 1}\nobjects:\n"+few+rest+web+fewSlice(4)+restSlice(70)+webSlice(1)+
			"steps:\n- apply:\n"+fewSlice(1)+"- advance: 60s\n- apply:\n"+webSlice(2)), Options{})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
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
	assert.Empty(t, report.Violations)
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
	assert.Empty(t, report.Violations)
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
	assert.Empty(t, report.Violations)
}
