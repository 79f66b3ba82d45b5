package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/netfilter"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Every fault of the format: what the sync says while it lasts, and that everything holds after the next one.
func TestFaultsAndWhatComesAfterThem(t *testing.T) {
	before, after := []string{"10.244.1.2:8080", "10.244.2.2:8080", "10.244.3.2:8080"}, []string{"10.244.2.2:8080"}
	for _, row := range []struct {
		name  string
		fault scenarios.Fault
		says  string // "": the sync does not fail
		then  []string
	}{
		{"a restore fails whole", scenarios.Fault{RestoreFails: 1}, "Couldn't load target `FAULT'", before},
		{"a restore of the other family fails", scenarios.Fault{RestoreFails: 1, Family: scenarios.FamilyIPv6}, "", after},
		{"a restore commits a table of two", scenarios.Fault{RestoreFails: 1, Commits: []string{"nat"}}, "Couldn't load target `FAULT'", after},
		{"a restore commits a table that matters less", scenarios.Fault{RestoreFails: 1, Commits: []string{"filter"}}, "FAULT", before},
		{"the lock is held", scenarios.Fault{LockHeld: 100},
			"Another app is currently holding the xtables lock. Stopped waiting after 5s.", before},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := worldOf(t, smallState, Options{Direct: true})
			ctx := t.Context()
			row.fault.Node = "node1"
			require.NoError(t, w.Fault(ctx, row.fault))
			require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
			err := w.Sync(ctx, []string{"node1"})
			if row.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "node1: ")
				require.ErrorContains(t, err, row.says)
			}
			call := attempt("node1", "TCP", web)
			assert.ElementsMatch(t, row.then, reached(t, w, call))
			require.NoError(t, w.Fault(ctx, scenarios.Fault{Node: "node1", Heal: true}))
			require.NoError(t, w.Sync(ctx, []string{"node1"}))
			assert.Equal(t, []string{"10.244.2.2:8080"}, reached(t, w, call))
		})
	}
}

// A save that fails holds nothing up: chains that are out of use stay until the next full sync.
func TestASaveThatFails(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	const stale = "nat KUBE-SEP-PXJ2U7QYT2QW5545" // of 10.244.1.2
	require.Contains(t, rulesOf(w.Kernel("node1"), netfilter.IPv4), stale)
	require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
	restart := func() map[string][]string {
		require.NoError(t, w.Restart(ctx, []string{"node1"}))
		require.NoError(t, w.Sync(ctx, []string{"node1"}))
		return rulesOf(w.Kernel("node1"), netfilter.IPv4)
	}
	require.NoError(t, w.Fault(ctx, scenarios.Fault{Node: "node1", SaveFails: 1, Family: scenarios.FamilyIPv4}))
	assert.Contains(t, restart(), stale)
	assert.Equal(t, []string{"10.244.2.2:8080"}, reached(t, w, attempt("node1", "TCP", web)))
	assert.NotContains(t, restart(), stale)
}

// The nft tools have no lock, as the real ones have none.
func TestNoLockKeepsTheNftToolsOut(t *testing.T) {
	s, err := scenarios.Read("in.yaml", strings.NewReader(smallState))
	require.NoError(t, err)
	cluster, err := scenarios.Resolve(s)
	require.NoError(t, err)
	w, err := NewWorld(t.Context(), cluster.With(netfilter.NFT), Options{Direct: true})
	require.NoError(t, err)
	require.NoError(t, w.Fault(t.Context(), scenarios.Fault{Node: "node1", LockHeld: 1}))
	require.NoError(t, w.Sync(t.Context(), []string{"node1"}))
}

// A list of conntrack that fails is made again by the next sync, though nothing has changed.
func TestConntrackThatFailed(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	_, err := w.Keep(attempt("10.244.1.2", "UDP", "172.30.0.42:53"), attempt("", "", "10.244.1.9:53").To)
	require.NoError(t, err)
	for _, fails := range []int{1, 2} { // the list, and then the deletion
		require.NoError(t, w.Fault(ctx, scenarios.Fault{Node: "node1", ConntrackFails: 1}))
		if fails == 1 {
			require.NoError(t, w.Apply(ctx, objects(t, strings.ReplaceAll(webOn3, "web", "dns"))))
		}
		require.ErrorContains(t, w.Sync(ctx, []string{"node1"}), "no buffer space available")
	}
	entries, err := w.Conntrack(ctx, "node1")
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	entries, err = w.Conntrack(ctx, "node1")
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestSlowRestoresMoveTheClock(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	require.NoError(t, w.Fault(ctx, scenarios.Fault{Node: "node1", RestoreTakes: &metav1.Duration{Duration: 7 * time.Second}}))
	before := w.clock.Now()
	require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	assert.Equal(t, 7*time.Second, w.clock.Since(before), "the other family has nothing to write")
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	assert.Equal(t, 7*time.Second, w.clock.Since(before))
}

// What a sync meets between any two of its commands.
func TestWorldIsSeenDuringASync(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	var points, seen []string
	last := ""
	look := func(_ context.Context, p scenarios.Point) {
		points = append(points, p.String())
		now := strings.Join(reached(t, w, attempt("node1", "TCP", web)), " ")
		if now != last {
			seen, last = append(seen, p.String()+": "+now), now
		}
	}
	require.NoError(t, w.Apply(ctx, objects(t, webOn2+"\n---\n"+strings.ReplaceAll(webOn3, "web", "dns"))))
	_, err := w.Keep(attempt("10.244.1.2", "UDP", "172.30.0.42:53"), attempt("", "", "10.244.1.9:53").To)
	require.NoError(t, err)
	require.NoError(t, w.During(ctx, look))
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	require.NoError(t, w.During(ctx, nil))
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	assert.Equal(t, []string{
		"before iptables on node1: 10.244.1.2:8080 10.244.2.2:8080 10.244.3.2:8080", "after iptables-restore of nat on node1: 10.244.2.2:8080",
	}, seen)
	written := points[len(points)-10:]
	assert.Equal(t, []string{
		"before iptables-restore on node1", "before iptables-restore of filter on node1", "after iptables-restore of filter on node1",
		"before iptables-restore of nat on node1", "after iptables-restore of nat on node1", "after iptables-restore on node1",
		"before conntrack-list on node1", "after conntrack-list on node1", "before conntrack-delete on node1", "after conntrack-delete on node1",
	}, written)
}

// Everything that may be asked within a sync is answered there, as it was before or as it is by then.
func TestWorldAnswersDuringASync(t *testing.T) {
	const local = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer, externalTrafficPolicy: Local,
   clusterIP: 172.30.0.41, healthCheckNodePort: 31000, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}}`
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	require.NoError(t, w.Apply(ctx, objects(t, local)))
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
	asked := 0
	require.NoError(t, w.During(ctx, func(ctx context.Context, p scenarios.Point) {
		asked++
		health, err := w.Health(ctx, "node1")
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"default/web": 1}, health, p.String())
		healthy, err := w.Healthz(ctx, "node1")
		require.NoError(t, err)
		assert.True(t, healthy)
		_, err = w.Save(ctx, "node1", scenarios.FamilyIPv4)
		require.NoError(t, err)
		_, err = w.Accounting(ctx, "node1")
		require.NoError(t, err)
		_, err = w.Conntrack(ctx, "node1")
		require.NoError(t, err)
		_, err = w.Fresh("node1")
		require.NoError(t, err)
	}))
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	assert.Greater(t, asked, 10)
	health, err := w.Health(ctx, "node1")
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"default/web": 0}, health)
}

func TestWorldTellsWhatASyncWrote(t *testing.T) {
	w := worldOf(t, smallState, Options{Direct: true})
	ctx := t.Context()
	written := func() scenarios.Written {
		out, err := w.Writes(ctx, "node1")
		require.NoError(t, err)
		return out
	}
	first := written()
	assert.Equal(t, 2, first.Restores)
	require.NoError(t, w.Sync(ctx, []string{"node1"}))
	assert.Zero(t, written())
	require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
	require.NoError(t, w.Fault(ctx, scenarios.Fault{Node: "node1", RestoreFails: 1}))
	require.Error(t, w.Sync(ctx, []string{"node1"}))
	failed := written()
	assert.Equal(t, 1, failed.Restores)
	assert.Less(t, failed.Bytes, first.Bytes/2)
}

// A proxier that has waited for a sync, or failed, for longer than twice its sync period says so.
func TestHealthzTellsOfRulesThatAreLate(t *testing.T) {
	for name, o := range bothWays {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, smallState, o)
			ctx := t.Context()
			healthy := func() bool {
				ok, err := w.Healthz(ctx, "node1")
				require.NoError(t, err)
				return ok
			}
			assert.True(t, healthy())
			require.NoError(t, w.Apply(ctx, objects(t, webOn2)))
			require.NoError(t, w.Advance(ctx, 59*time.Second))
			assert.True(t, healthy())
			require.NoError(t, w.Advance(ctx, time.Second))
			assert.False(t, healthy())
			require.NoError(t, w.Fault(ctx, scenarios.Fault{Node: "node1", RestoreFails: 1}))
			require.Error(t, w.Sync(ctx, []string{"node1"}))
			assert.False(t, healthy())
			require.NoError(t, w.Sync(ctx, []string{"node1"}))
			assert.True(t, healthy())
			const leaving = "{apiVersion: v1, kind: Node, metadata: {name: node1}, spec: {taints: [{key: ToBeDeletedByClusterAutoscaler}]}}"
			require.NoError(t, w.Apply(ctx, objects(t, leaving)))
			assert.False(t, healthy(), "load balancers are to leave")
		})
	}
}
