package kind

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/kindtest/probe"
	"github.com/chainwalk/chainwalk/scenarios"
)

// balanced is a service whose nodes have a health check.
const balanced = `name: a
steps: [{sync: true}]
topology: {pods: [{name: one, node: node2}]}
objects:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec:
    type: LoadBalancer
    clusterIP: 172.30.0.41
    externalTrafficPolicy: Local
    healthCheckNodePort: 32000
    ports: [{port: 80, nodePort: 30080}]
`

// sentinelPorts are the ports at which the sentinel was looked for, each once, in order.
func sentinelPorts(s *script) []string {
	var out []string
	for _, line := range s.asked("dial") {
		words := strings.Fields(line)
		if port := words[3][strings.LastIndex(words[3], ":")+1:]; strings.HasPrefix(port, "100") && !slices.Contains(out, port) {
			out = append(out, port)
		}
	}
	return out
}

// TestSyncAwaitsHealthChecks: proxies serve them behind the rules, so the sentinel is waited for twice, and then each node until it
// serves them.
func TestSyncAwaitsHealthChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, s := opened(t, balanced)
		var mu sync.Mutex
		asked := map[string]int{}
		s.dial = func(machine, agent string, d probe.Dial) probe.Result {
			if d.To.Port() != 32000 {
				return answerSentinel(machine, agent, d)
			}
			mu.Lock()
			defer mu.Unlock()
			if asked[machine]++; asked[machine] < 4 {
				return probe.Result{End: probe.Refused, With: "tcp-reset"}
			}
			return probe.Result{End: probe.Answered}
		}
		began := time.Now()
		require.NoError(t, session.Sync(t.Context(), nil))
		assert.Equal(t, 3*lookForCheck, time.Since(began))
		assert.Equal(t, map[string]int{"worker": 4, "worker2": 4}, asked, "each node that the scenario has")
		assert.Len(t, sentinelPorts(s), 2)
		dials := s.asked("dial")
		assert.Contains(t, dials[len(dials)-1], ":32000 ", "the sentinel comes first")
	})
}

// TestSyncDoesNotAwaitHealthChecksForEver: a proxy may be one that is not to serve them.
func TestSyncDoesNotAwaitHealthChecksForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, _ := opened(t, balanced)
		began := time.Now()
		require.NoError(t, session.Sync(t.Context(), nil))
		assert.Equal(t, longestSilence, time.Since(began), "the machine may be slow")
	})
}

// TestSyncAwaitsTheCleanupOfFlows: conntrack is cleaned up behind the rules, which matters once there is a flow of UDP.
func TestSyncAwaitsTheCleanupOfFlows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, s := opened(t, shop)
		require.NoError(t, session.Sync(t.Context(), nil))
		assert.Len(t, sentinelPorts(s), 1)
		for keep, rounds := range map[string]int{"tcp 172.30.0.41:80": 1, "udp 172.30.0.42:53": 2} {
			s.forgetLog()
			session.flows = map[string]*flow{"kept": {attempt: attempt(keep, "kept")}}
			require.NoError(t, session.Sync(t.Context(), nil))
			assert.Len(t, sentinelPorts(s), rounds, keep)
		}
	})
}

// TestAnotherConfigurationBeginsWithoutRoutedLoopback, nor the rule that guards it: proxies make both, and take neither back. The setting
// goes before the proxy starts, which may need it, the rule after it, and where the setting has stayed away alone.
func TestAnotherConfigurationBeginsWithoutRoutedLoopback(t *testing.T) {
	b, s := scripted(t)
	s.dial = answerSentinel
	s.exec = func(_ string, c probe.Command) string {
		if c.Argv[0] == "sysctl" {
			return "1\n"
		}
		return ""
	}
	start := func(more string) {
		t.Helper()
		parsed, err := scenarios.Read("in.yaml", strings.NewReader(shop+more))
		require.NoError(t, err)
		c, err := scenarios.Resolve(parsed)
		require.NoError(t, err)
		s.forgetLog()
		session, err := b.Start(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, session.Close())
	}
	begun := func() map[string][]string { // by node, in order
		out := map[string][]string{}
		for _, line := range s.asked("exec", "configure") {
			machine, what, _ := strings.Cut(strings.TrimPrefix(line, "exec "), ": ")
			switch {
			case strings.HasPrefix(line, "configure"):
				for node := range out {
					out[node] = append(out[node], "configure")
				}
			case strings.Contains(what, localnet+"=0"):
				out[machine] = append(out[machine], "unroute")
			case strings.Contains(what, "unguard "+localnet):
				assert.Contains(t, what, "= 0 ]; then iptables -w -F KUBE-FIREWALL")
				out[machine] = append(out[machine], "unguard")
			}
		}
		return out
	}
	all := []string{"unroute", "configure", "unguard"}
	want := map[string][]string{"worker": all, "worker2": all}
	start("")
	assert.Equal(t, want, begun(), "of the first one it is not known what was there before")
	start("")
	assert.Empty(t, maps.Clone(begun()), "the same configuration")
	start("kubeProxy: {iptables: {localhostNodePorts: false}}\n")
	assert.Equal(t, want, begun())
}

// TestProxiesThatNobodyLooksAtAreStopped, until a scenario has their nodes, or at the end.
func TestProxiesThatNobodyLooksAtAreStopped(t *testing.T) {
	session, s := opened(t, shop)
	b := session.backend
	require.NoError(t, session.Close())
	first := b.Idle("control-plane")
	assert.Positive(t, first)
	assert.Zero(t, b.Idle("worker"))
	s.forgetLog()
	require.NoError(t, b.use(t.Context(), []string{"control-plane", "worker"}))
	assert.ElementsMatch(t, []string{"worker2 STOP", "control-plane CONT"}, signals(s))
	require.NoError(t, b.use(t.Context(), []string{"worker", "worker2"}))
	assert.Greater(t, b.Idle("control-plane"), first, "its rules may be others than at the first stop")
	s.forgetLog()
	require.NoError(t, b.Rest(t.Context()))
	assert.Equal(t, []string{"control-plane CONT"}, signals(s))
}

// TestLabelsAreGivenBack before anything else begins on the nodes.
func TestLabelsAreGivenBack(t *testing.T) {
	b, s := scripted(t)
	w := &writer{client: b.client, labels: b.labels}
	zone := "elsewhere"
	_, changed, err := w.label(t.Context(), "worker", map[string]*string{"topology.kubernetes.io/zone": &zone, "own": nil})
	require.NoError(t, err)
	require.True(t, changed)
	require.NoError(t, b.Rest(context.Background()))
	node, err := b.hands.Client().Nodes().Get(t.Context(), "worker", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"own": "1"}, node.Labels)
	s.forgetLog()
	require.NoError(t, b.Rest(t.Context()))
	assert.Empty(t, s.asked("api patch", "api update"), "there is nothing to give back any more")
}
