//go:build linux

package netns

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// TestKernelMachineIsAsItWas looks for what a run could leave outside of its
// namespaces: settings of the machine, names and open files.
func TestKernelMachineIsAsItWas(t *testing.T) {
	needKernel(t)
	look := func() (named []string, logAll string, files int) {
		entries, err := os.ReadDir("/run/netns")
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), fmt.Sprint(os.Getpid())) {
				named = append(named, e.Name())
			}
		}
		value, err := os.ReadFile("/proc/sys/net/netfilter/nf_log_all_netns")
		require.NoError(t, err)
		return named, string(value), openFiles(t)
	}
	run := func() {
		s, err := scenarios.Read("in.yaml", strings.NewReader(hairpin))
		require.NoError(t, err)
		require.Len(t, scenarios.Run(t.Context(), s, Backend{samples: 10}).Checks, 4)
		for _, file := range []string{"pod-address-used-again", "lock-held"} { // hosts that go, and an open lock
			changing, err := scenarios.Load("../../../scenarios/testdata/cases/" + file + ".yaml")
			require.NoError(t, err)
			changing[0].IPTables.Dialects = []netfilter.Dialect{netfilter.Legacy}
			require.False(t, scenarios.Run(t.Context(), changing[0], Backend{samples: 10}).Failed())
		}
	}
	run() // what the process opens once is open then
	named, logAll, files := look()
	run()
	namedAfter, logAllAfter, filesAfter := look()
	assert.Equal(t, named, namedAfter)
	assert.Equal(t, logAll, logAllAfter)
	assert.Equal(t, files, filesAfter, "open files")
}

// openFiles is how many descriptors the process has, those of namespaces among them.
func openFiles(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(open)
}

// TestKernelICMPClosesNothingElse calls by a protocol that nobody listens to with a socket of its own, and looks whether the run has closed
// descriptor 0 in its place, which is the tests' input or whatever took that number later.
func TestKernelICMPClosesNothingElse(t *testing.T) {
	needKernel(t)
	input := func() string {
		name, err := os.Readlink("/proc/self/fd/0")
		require.NoError(t, err)
		return name
	}
	before := input()
	all, err := scenarios.Load("../../../scenarios/testdata/cases/icmp-to-cluster-ip.yaml")
	require.NoError(t, err)
	for _, s := range all {
		for _, c := range scenarios.Run(t.Context(), s, Backend{}).Checks {
			assert.True(t, c.Passed, "%s: %s", c.At, c.Wrong)
		}
	}
	assert.Equal(t, before, input())
}

// hairpin is a pod that calls itself by a service, with the rule that makes that work
// and without it.
const hairpin = `
name: hairpin without a masquerade rule
topology: {nodes: 1}
objects:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 172.30.0.41, ports: [{port: 80, targetPort: 8080}]}}
- apiVersion: discovery.k8s.io/v1
  kind: EndpointSlice
  metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
  addressType: IPv4
  ports: [{port: 8080}]
  endpoints: [{addresses: [10.244.1.2], nodeName: node1}]
steps:
- connect: {from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080"], source: masqueraded}}
- fault: {node: node1, run: ["iptables -t nat -F KUBE-MARK-MASQ"]}
- connect: {from: 10.244.1.2, to: "tcp 172.30.0.41:80", expect: {endpoints: ["10.244.1.2:8080"], source: masqueraded}}
`

// TestKernelAMissingRuleIsSeen takes one rule away from under a scenario that holds.
func TestKernelAMissingRuleIsSeen(t *testing.T) {
	needKernel(t)
	s, err := scenarios.Read("in.yaml", strings.NewReader(hairpin))
	require.NoError(t, err)
	result := scenarios.Run(t.Context(), s, Backend{})
	require.Len(t, result.Checks, 4)
	for i, c := range result.Checks {
		assert.Equal(t, i%2 == 0, c.Passed, "check %d with %s: %s", i, c.Dialect, c.Wrong)
	}
	var report strings.Builder
	require.NoError(t, scenarios.WriteText(&report, []*scenarios.Result{result}, scenarios.WaysFailed))
	assert.Contains(t, report.String(), "nat:KUBE-MARK-MASQ:return:1")
	assert.Contains(t, report.String(), "lost at 10.244.1.2: martian source")
}
