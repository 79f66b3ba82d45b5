package trial

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/chainwalk/chainwalk/internal/race"
	"github.com/chainwalk/chainwalk/proxier/conntrack"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
	"github.com/chainwalk/chainwalk/scenarios/world/node"
	"github.com/chainwalk/chainwalk/scenarios/world/sim"
)

func (deaf) QueuedUpdate(corev1.IPFamily) {}
func (deaf) Updated(corev1.IPFamily)      {}

const cluster = `
name: a small cluster
topology:
  pods: [{name: client, node: node1}]
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080, nodePort: 30041}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 8080}]
  endpoints: [{addresses: [10.244.1.2], nodeName: node1}, {addresses: [10.244.2.2], nodeName: node2}]
- {apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {clusterIP: 172.30.0.53, ports: [{port: 53, protocol: UDP}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: dns-1, labels: {kubernetes.io/service-name: dns}}
  addressType: IPv4
  ports: [{port: 53, protocol: UDP}]
  endpoints: [{addresses: [10.244.2.53], nodeName: node2}]
steps:
`

// slice is a step that replaces a slice.
func slice(service, port, endpoints string) string {
	return `
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: ` + service + `-1, labels: {kubernetes.io/service-name: ` + service + `}}
    addressType: IPv4
    ports: [` + port + `]
    endpoints: [` + endpoints + `]
`
}

func web(endpoints string) string { return slice("web", "{port: 8080}", endpoints) }
func dns(endpoints string) string { return slice("dns", "{port: 53, protocol: UDP}", endpoints) }

const (
	onNode1 = "{addresses: [10.244.1.2], nodeName: node1}"
	onNode2 = "{addresses: [10.244.2.2], nodeName: node2}"
	webGoes = `
- delete: [service web, endpointslice web-1]
`
	nothing = `
- advance: 1s
`
)

func read(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Read("case.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return s
}

// backend is the simulated one with another proxier.
type backend struct {
	sim.Backend
	proxier node.Proxier
}

func (b backend) Start(ctx context.Context, c *scenarios.Cluster) (scenarios.Session, error) {
	return sim.NewWorld(ctx, c, sim.Options{Direct: true, OneFamily: true, Proxier: b.proxier})
}

// fault is a proxier that does something wrong, and steps by which it is found.
type fault struct {
	name    string
	proxier node.Proxier
	steps   string
	clause  string
}

// wrongRules are faults of what is written.
func wrongRules() []fault {
	return []fault{
		{"outsiders are not masqueraded", without(`-A KUBE-(EXT|SVC)-.* -j KUBE-MARK-MASQ`), nothing, "external-masqueraded"},
		{"a hairpin is not masqueraded", without(`-A KUBE-SEP-.* -j KUBE-MARK-MASQ`), nothing, "cluster-ip-served"},
		{"another endpoint", editing(func(in string) string {
			return strings.ReplaceAll(in, "--to-destination 10.244.2.2:", "--to-destination 10.244.2.53:")
		}),
			nothing, "cluster-ip-served"},
		{"nothing is rejected", without(`-j REJECT`), web(""), "no-endpoint-rejects"},
		{"conntrack is not cleaned", withoutConntrack, dns("{addresses: [10.244.1.53], nodeName: node1}"), "stale-udp-flow"},
		{"chains leak", without(`^-X`), webGoes, "no-stale-chain"},
		{"a partial sync writes something else", replacingInPartial(`"default/web -> 10.244.1.2:8080"`, `"other"`), web(onNode1),
			"partial-equals-full"},
		{"a partial sync forgets", editing(func(in string) string {
			if strings.Contains(in, ":KUBE-FORWARD ") {
				return in
			}
			return ""
		}), web(onNode1), "cluster-ip-served"},
		{"a rejection stays where no packet meets it", editing(keepingRejections), web("") + web(onNode1+", "+onNode2), "partial-equals-full"},
		{"a start leaves a rejection where no packet meets it", editing(func(in string) string {
			if strings.Contains(in, ":KUBE-FORWARD ") {
				return keepingRejections(in)
			}
			return in
		}), web("") + strings.TrimRight(web(onNode1), "\n") + "\n  sync: false\n- {restart: true, sync: true}\n", "restart-equals-fresh"},
		{"what can be changed to cannot be started with", wrapping(func(p node.Proxy) node.Proxy { return &picky{Proxy: p} }), web(onNode1),
			"partial-equals-full"},
		{"every sync writes everything", fullSyncs(Options{Except: nil}).Proxier, nothing, "second-sync-writes-nothing"},
		{"what others say of a slice is written", func(p node.Process) (node.Proxy, []string, error) {
			proxy, warnings, err := node.Chainwalk(p)
			return &diligent{proxy, p.Kernel.Exec, false}, warnings, err
		}, nothing, "second-sync-writes-nothing"},
		{"established packets are dropped", editing(func(in string) string {
			return strings.Replace(in, "-A KUBE-FORWARD ", "-A KUBE-FORWARD -m conntrack --ctstate ESTABLISHED -j DROP\n-A KUBE-FORWARD ", 1)
		}), nothing, "replies-come-back"},
	}
}

// wrongAround are faults of what a proxier does beside writing rules, and of when it writes them.
func wrongAround() []fault {
	return []fault{
		{"health checks lag behind", wrapping(func(p node.Proxy) node.Proxy { return &unhealthy{p} }), `
- apply:
  - {apiVersion: v1, kind: Service, metadata: {name: lb}, spec: {type: LoadBalancer, clusterIP: 172.30.0.77, externalTrafficPolicy: Local,
     healthCheckNodePort: 31077, ports: [{port: 80, targetPort: 8080, nodePort: 30077}]}}
` + slice("lb", "{port: 8080}", onNode1) + slice("lb", "{port: 8080}", onNode2), "health-check-agrees"},
		{"/healthz says that all is well", func(p node.Process) (node.Proxy, []string, error) {
			p.Health = hopeful{p.Health}
			return node.Chainwalk(p)
		}, `
- fault: {restoreFails: 9}
` + strings.TrimRight(web(onNode1), "\n") + "\n- advance: 300s\n", "health-tells-failure"},
		{"invalid packets pass", without(`--ctstate INVALID`), nothing, "invalid-packet-dropped"},
		{"loopback is open to others", without(`-A KUBE-FIREWALL`), nothing, "loopback-from-outside"},
		{"services are not remembered", without(`--rcheck`), `
- apply: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {sessionAffinity: ClientIP, clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080}]}}]
- connect: {from: client, to: "tcp 172.30.0.41:80", as: kept, expect: {endpoints: ["10.244.1.2:8080", "10.244.2.2:8080"]}}
` + dns(""), "affinity-sticks"},
		{"the rules are gone for a moment", syncing(func(p node.Process, sync func() error) error {
			save, _ := p.Kernel.Exec.Command("iptables-save", "-t", "nat").Output()
			_, _ = p.Kernel.Exec.Command("iptables", "-t", "nat", "-F", "KUBE-SERVICES").CombinedOutput()
			err := sync()
			back := p.Kernel.Exec.Command("iptables-restore", "--noflush")
			back.SetStdin(
				strings.NewReader("*nat\n" + strings.Join(regexp.MustCompile(`(?m)^-A KUBE-SERVICES .*\n`).FindAllString(string(save), -1), "") +
					"COMMIT\n"))
			_, _ = back.CombinedOutput()
			return err
		}), web(onNode1), "before-or-after"},
		{"a panic", syncing(func() func(node.Process, func() error) error {
			syncs := 0
			return func(_ node.Process, sync func() error) error {
				if syncs++; syncs > 2 {
					panic("out of luck")
				}
				return sync()
			}
		}()), nothing, "never-panics"},
		{"a sync that fails says nothing", syncing(func(_ node.Process, sync func() error) error {
			_ = sync()
			return nil
		}), `
- fault: {restoreFails: 1, node: node1}
` + web(onNode1) + dns(""), "cluster-ip-served"},
		{"a failure in conntrack says nothing", syncing(func(_ node.Process, sync func() error) error {
			_ = sync()
			return nil
		}), `
- fault: {conntrackFails: 1, node: node1}
` + dns("{addresses: [10.244.1.53], nodeName: node1}"), "stale-udp-flow"},
		{"connections are forgotten with the rules", syncing(forgetting), dns("{addresses: [10.244.2.53], nodeName: node2}, "+onNode1) + `
- fault: {flush: [nat]}
` + strings.TrimRight(web(onNode1), "\n") + "\n  sync: [node1]\n" + nothing + "  sync: true\n", "live-connection-survives"},
		{"syncs that fail one after the other leave a moment without rules", syncing(func(p node.Process, sync func() error) error {
			err := sync()
			if err != nil {
				_, _ = p.Kernel.Exec.Command("iptables", "-t", "nat", "-F", "KUBE-SERVICES").CombinedOutput()
			}
			return err
		}), `
- fault: {restoreFails: 9, node: node1}
` + web(onNode1) + web(onNode2) + dns(onNode1), "before-or-after"},
		{"it gives up", syncing(func() func(node.Process, func() error) error {
			failed := map[string]bool{}
			return func(p node.Process, sync func() error) error {
				if failed[p.Node] {
					return nil
				}
				err := sync()
				failed[p.Node] = err != nil
				return err
			}
		}()), `
- fault: {restoreFails: 1, node: node1}
` + web(onNode1) + dns(""), "cluster-ip-served"},
	}
}

// Each fault is found, by the clause that it breaks, and its witness is an ordinary file that
// fails with the fault and holds without it.
func TestFaultsAreFound(t *testing.T) {
	for i, c := range slices.Concat(wrongRules(), wrongAround()) {
		if i%race.Every(3) != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			s := read(t, cluster+c.steps)
			var clauses []string
			for _, f := range violations(t, cluster+c.steps, c.proxier) {
				clauses = append(clauses, f.Clause.Name)
				checkWitness(t, &f, s, c.proxier)
			}
			assert.Contains(t, clauses, c.clause)
		})
	}
}

// soundIn are the texts of cases in which a sound proxier has been seen to have no violation. Several faults are found by the same steps.
var soundIn = map[string]bool{}

// violations are a proxier's violations in a case in which a sound one has none.
func violations(t *testing.T, text string, proxier node.Proxier) []Violation {
	t.Helper()
	s := read(t, text)
	if !soundIn[text] {
		sound, err := Run(t.Context(), s, Options{})
		require.NoError(t, err)
		require.Empty(t, sound.Violations)
		soundIn[text] = true
	}
	report, err := Run(t.Context(), s, Options{Proxier: proxier})
	require.NoError(t, err)
	require.NotEmpty(t, report.Violations)
	return report.Violations
}

// The format has no words for whether a sync is due or for what it looks at, so these have no witness.
func TestFaultsWithoutAWitness(t *testing.T) {
	for name, c := range map[string]struct {
		proxier node.Proxier
		steps   string
		clause  *oracle.Clause
	}{
		"no sync is ever due": {func(p node.Process) (node.Proxy, []string, error) {
			p.Health = deaf{}
			return node.Chainwalk(p)
		}, web(onNode1), oracle.SyncWhenDue},
		"heartbeats make a sync due": {func(p node.Process) (node.Proxy, []string, error) {
			proxy, warnings, err := node.Chainwalk(p)
			return &eager{proxy, p.Health}, warnings, err
		}, nothing, oracle.NoSyncForNothing},
		"ports in another order make a sync due": {func(p node.Process) (node.Proxy, []string, error) {
			proxy, warnings, err := node.Chainwalk(p)
			return &literal{proxy, p.Health}, warnings, err
		}, `
- apply: [{apiVersion: v1, kind: Service, metadata: {name: two}, spec: {clusterIP: 172.30.0.43, ports: [{name: a, port: 80}, {name: b, port: 81}]}}]
`, oracle.NoSyncForNothing},
		"every sync looks through conntrack": {syncing(func(p node.Process, sync func() error) error {
			return errors.Join(sync(), p.Kernel.Conntrack.Walk(corev1.IPv4Protocol, func(conntrack.Entry) {}))
		}), dns("{addresses: [10.244.1.53], nodeName: node1}") + web(onNode1), oracle.CostByChange},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, cluster+c.steps)
			found := violations(t, cluster+c.steps, c.proxier)
			require.Len(t, found, 1)
			assert.Equal(t, c.clause, found[0].Clause)
			assert.Nil(t, found[0].Witness(s))
		})
	}
}

// TestWhatIsOpenMakesNoSyncDue has a second slice say something else of an endpoint for a while. Which of them counts is open, so that a
// proxier may go by the first one all the time, and need say of neither change that a sync is due.
func TestWhatIsOpenMakesNoSyncDue(t *testing.T) {
	s := read(t, cluster+`
- apply:
  - apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: web-2, labels: {kubernetes.io/service-name: web}}
    addressType: IPv4
    ports: [{port: 8080}]
    endpoints: [{addresses: [10.244.1.2], conditions: {ready: false}, nodeName: node1}]
- delete: [endpointslice web-2]
`)
	report, err := Run(t.Context(), s, Options{Proxier: func(p node.Process) (node.Proxy, []string, error) {
		p.Health = deaf{}
		return node.Chainwalk(p)
	}})
	require.NoError(t, err)
	assert.Empty(t, report.Violations)
}

func checkWitness(t *testing.T, f *Violation, s *scenarios.Scenario, proxier node.Proxier) {
	t.Helper()
	witness := f.Witness(s)
	if !assert.NotNil(t, witness, f.Clause.Name) {
		return
	}
	var text bytes.Buffer
	require.NoError(t, scenarios.Write(&text, witness))
	again := read(t, text.String())
	broken, sound := scenarios.Run(t.Context(), again, backend{proxier: proxier}), scenarios.Run(t.Context(), again, backend{})
	assert.True(t, broken.Failed(), "%s: the witness does not see it:\n%s", f.Clause.Name, &text)
	for _, check := range sound.Checks {
		if check.Wrong == "the sync has no such point" && f.Point.Command == scenarios.CommandIPTables {
			continue // a command that a sound proxier does not run
		}
		assert.True(t, check.Passed, "%s: the witness fails on what is sound: %s: %s, got %s\n%s", f.Clause.Name, check.Name, check.Wrong,
			check.Got, &text)
	}
}
