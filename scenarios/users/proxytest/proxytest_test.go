package proxytest_test

import (
	"errors"
	"net/netip"
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/fakeipt/toolstate"
	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/search/gen"
	"github.com/chainwalk/chainwalk/scenarios/users/proxytest"
)

func newCluster(t *testing.T, text string) *proxytest.Cluster {
	objects, err := proxytest.Objects(text)
	require.NoError(t, err)
	c, err := proxytest.New(&scenarios.Scenario{Objects: objects})
	require.NoError(t, err)
	return c
}

func TestASoundProxierPasses(t *testing.T) {
	c := newCluster(t, web)
	require.NoError(t, write(c, fair))
	c.Test(t)
}

func TestTheBugIsSeenByEveryClient(t *testing.T) {
	c := newCluster(t, web)
	require.NoError(t, write(c, unfair))
	failures, err := c.Judge()
	require.NoError(t, err)
	clients := map[string]bool{}
	for i := range failures {
		f := &failures[i]
		assert.Equal(t, netip.MustParseAddrPort("172.30.0.41:80"), f.Attempt.To)
		assert.Equal(t, "cluster-ip-served", f.Clause.Name)
		assert.Contains(t, f.String(), "-A MY-SERVICES -d 172.30.0.41/32")
		clients[f.Attempt.From] = true
	}
	assert.Contains(t, clients, "node1")
	assert.Contains(t, clients, "10.244.1.10")
}

func TestWithoutAProxierNothingIsServed(t *testing.T) {
	c := newCluster(t, web)
	failures, err := c.Judge()
	require.NoError(t, err)
	assert.NotEmpty(t, failures)
}

func TestTheProxierIsToldOfChanges(t *testing.T) {
	c := newCluster(t, web)
	require.NoError(t, write(c, fair))
	slice := c.EndpointSlices()[0].DeepCopy()
	slice.Endpoints = slice.Endpoints[:1]
	require.NoError(t, c.Apply(slice))
	assert.Len(t, c.EndpointSlices()[0].Endpoints, 1)
	failures, err := c.Judge()
	require.NoError(t, err)
	assert.NotEmpty(t, failures, "the rules have not changed")
	for _, n := range c.Nodes() {
		_, err := n.Exec().Command("iptables", "-t", "nat", "-F").CombinedOutput()
		require.NoError(t, err)
	}
	require.NoError(t, write(c, fair))
	c.Test(t)

	require.NoError(t, c.Delete(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}))
	require.NoError(t, c.Delete(&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}))
	assert.Empty(t, c.Services())
	assert.Empty(t, c.EndpointSlices())
}

// TestAffinityIsJudged: a client that reached an endpoint of a service with session affinity has to reach it again, and what is tried for
// that leaves nothing behind.
func TestAffinityIsJudged(t *testing.T) {
	const rules = `*nat
:MY - [0:0]
:MY-1 - [0:0]
:MY-2 - [0:0]
-A PREROUTING -j MY
-A OUTPUT -j MY
-A POSTROUTING -m mark --mark 1 -j MASQUERADE
-A MY ! -s 10.244.0.0/16 -d 172.30.0.41 -p tcp --dport 80 -j MARK --set-mark 1
REMEMBERED
-A MY -d 172.30.0.41 -p tcp --dport 80 -m statistic --mode random --probability 0.5 -j MY-1
-A MY -d 172.30.0.41 -p tcp --dport 80 -j MY-2
-A MY-1 -s 10.244.1.10 -j MARK --set-mark 1
-A MY-1 -p tcp -m recent --name one --set -j DNAT --to-destination 10.244.1.10:8080
-A MY-2 -s 10.244.2.10 -j MARK --set-mark 1
-A MY-2 -p tcp -m recent --name two --set -j DNAT --to-destination 10.244.2.10:8080
COMMIT
`
	for _, tc := range []struct {
		name, remembered string
		after            map[string]bool
	}{
		{"nobody is remembered", "", map[string]bool{"10.244.1.10:8080": true, "10.244.2.10:8080": true}},
		{"one endpoint is forgotten", "-A MY -d 172.30.0.41 -p tcp --dport 80 -m recent --name one --rcheck --seconds 10800 -j MY-1",
			map[string]bool{"10.244.2.10:8080": true}},
		{"as it should be", "-A MY -d 172.30.0.41 -p tcp --dport 80 -m recent --name one --rcheck --seconds 10800 -j MY-1\n" +
			"-A MY -d 172.30.0.41 -p tcp --dport 80 -m recent --name two --rcheck --seconds 10800 -j MY-2", map[string]bool{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: 172.30.0.41, sessionAffinity: ClientIP, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.244.1.10], nodeName: node1}, {addresses: [10.244.2.10], nodeName: node2}]`)
			require.NoError(t, c.Run(func(n *proxytest.Node) error {
				cmd := n.Exec().Command("iptables-restore")
				cmd.SetStdin(strings.NewReader(strings.Replace(rules, "REMEMBERED", tc.remembered, 1)))
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				return nil
			}))
			for range 2 {
				failures, err := c.Judge()
				require.NoError(t, err)
				after := map[string]bool{}
				for i := range failures {
					f := &failures[i]
					assert.Equal(t, "affinity-sticks", f.Clause.Name, f.String())
					assert.Contains(t, f.String(), ", again after a connection to "+f.After.String())
					assert.NotEmpty(t, f.Ways)
					after[f.After.String()] = true
				}
				assert.Equal(t, tc.after, after)
			}
		})
	}
}

func TestSettingsOfTheKernelCount(t *testing.T) {
	c := newCluster(t, web)
	node := c.Nodes()[0]
	assert.Equal(t, "node1", node.Name)
	assert.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.244.1.0/24")}, node.PodCIDRs)
	require.NoError(t, node.SetSysctl("net/ipv4/ip_forward", 0))
	require.NoError(t, write(c, fair))
	failures, err := c.Judge()
	require.NoError(t, err)
	assert.NotEmpty(t, failures, "node1 forwards nothing")
}

// TestMain is the tools, if it is started by the name of one, as chainwalk is.
func TestMain(m *testing.M) {
	if !toolstate.IsTool(os.Args[0]) {
		os.Exit(m.Run())
	}
	store, err := toolstate.FromEnvironment()
	if err != nil {
		panic(err)
	}
	os.Exit(store.Run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// A program as it is: a shell script that runs iptables.
func TestAProgramRunsAsItIs(t *testing.T) {
	// With the race detector every tool would sleep for a second at its end, in case a goroutine is left.
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	binary, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	c := newCluster(t, web)
	program := proxytest.Program{Chainwalk: binary, Folder: folder}
	require.NoError(t, c.Run(func(n *proxytest.Node) error {
		cmd := osexec.Command("sh", "-c", `iptables-restore && iptables -t nat -S MY-SERVICES | grep -c -- '-j MY-web-http' >&2`)
		cmd.Stdin = strings.NewReader(rulesOf(c, fair))
		return program.Run(n, cmd)
	}))
	c.Test(t)

	err = program.Run(c.Nodes()[0], osexec.Command("sh", "-c", "iptables -t nat -A NOSUCH -j ACCEPT"))
	require.ErrorContains(t, err, "sh: exit status 1: iptables: No chain/target/match by that name.")
}

func TestGeneratedStatesAreJudged(t *testing.T) {
	failures := 0
	for seed := range uint64(5) {
		c, err := proxytest.New(gen.Example(gen.Options{}, seed))
		require.NoError(t, err)
		found, err := c.Judge()
		require.NoError(t, err)
		failures += len(found)
	}
	assert.Positive(t, failures, "nobody serves these services")
}

func TestAMistakeInTheObjectsIsSaid(t *testing.T) {
	_, err := proxytest.Objects("kind: Service\napiVersion: v1\nmetadata: {name: web}\nspec: {clusterIp: 1.2.3.4}\n")
	require.ErrorContains(t, err, "clusterIp")
	_, err = proxytest.New(&scenarios.Scenario{Topology: scenarios.Topology{Pods: []scenarios.Pod{{Name: "a", Node: "nobody"}}}})
	require.ErrorContains(t, err, "nobody")
}

// TestBackendPlaysScenarios has a scenario file sync, restart and change what the program under test serves.
func TestBackendPlaysScenarios(t *testing.T) {
	s, err := scenarios.Read("in.yaml", strings.NewReader(`
name: shares
iptables: {tools: [nft]}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{name: http, port: 80}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
   ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.1.10]}, {addresses: [10.244.1.11]}, {addresses: [10.244.2.10]}]}
steps:
- connect: {from: 10.244.1.9, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.10:8080", "10.244.1.11:8080", "10.244.2.10:8080"]}}
- restart: [node1]
- apply:
  - {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}, addressType: IPv4,
     ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.244.1.10]}]}
- connect: {from: 10.244.1.9, bind: ":40001", to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.10:8080"]}}
`))
	require.NoError(t, err)
	for name, row := range map[string]struct {
		oneIn func(i, n int) int
		holds []bool
	}{"with the bug": {unfair, []bool{false, true}}, "without": {fair, []bool{true, true}}} {
		t.Run(name, func(t *testing.T) {
			syncs := map[string]int{}
			result := scenarios.Run(t.Context(), s, proxytest.Backend(func(n *proxytest.Node) error {
				syncs[n.Name]++
				return restore(n, rulesOf(n, row.oneIn))
			}))
			var held []bool
			for _, c := range result.Checks {
				held = append(held, c.Passed)
			}
			assert.Equal(t, row.holds, held)
			assert.Equal(t, map[string]int{"node1": 3, "node2": 3}, syncs, "at first, after the restart, after the change")
		})
	}

	result := scenarios.Run(t.Context(), s, proxytest.Backend(func(*proxytest.Node) error { return errors.New("no rules today") }))
	assert.True(t, result.Failed())
	assert.Contains(t, result.Checks[0].Wrong, "node1: no rules today")
}
