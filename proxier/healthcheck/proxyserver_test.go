package healthcheck_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/proxier/healthcheck"
	"github.com/chainwalk/chainwalk/proxier/metrics"
	"github.com/chainwalk/chainwalk/proxier/node"
)

const (
	ipv4 = v1.IPv4Protocol
	ipv6 = v1.IPv6Protocol
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var (
	_ healthcheck.NodeSource = (*node.Manager)(nil)
	_ healthcheck.Metrics    = (*metrics.Metrics)(nil)
)

// nodeSource knows the node that it is told.
type nodeSource struct{ node *v1.Node }

func (n *nodeSource) Node() *v1.Node { return n.node }

func tainted(keys ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}}
	for _, key := range keys {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
	}
	return n
}

// tally counts answers, for example under "healthz 200".
type tally map[string]int

func (c tally) CountHealthz(code int) { c[fmt.Sprint("healthz ", code)]++ }
func (c tally) CountLivez(code int)   { c[fmt.Sprint("livez ", code)]++ }

// proxyFixture is a ProxyServer that serves on a loopback port, with a timeout
// of 60 s.
type proxyFixture struct {
	*healthcheck.ProxyServer
	clock   *clocktesting.FakePassiveClock
	node    *nodeSource
	metrics tally
	url     string
}

func newProxyFixture(t *testing.T) *proxyFixture {
	t.Helper()
	f := &proxyFixture{clock: clocktesting.NewFakePassiveClock(start), node: &nodeSource{tainted()}, metrics: tally{}}
	f.ProxyServer = healthcheck.NewProxyServer(healthcheck.ProxyOptions{
		Timeout: time.Minute, Clock: f.clock, Node: f.node, Metrics: f.metrics,
	})
	served := httptest.NewServer(f.Handler())
	t.Cleanup(served.Close)
	f.url = served.URL
	return f
}

// after sets the clock to so many seconds after the start.
func (f *proxyFixture) after(seconds int) {
	f.clock.SetTime(start.Add(time.Duration(seconds) * time.Second))
}

// health asks at the path and sums the answer up: status, families that are
// unhealthy, and seconds since the start of the last update.
func (f *proxyFixture) health(t *testing.T, path string) string {
	t.Helper()
	got := ask(t, f.url+path)
	var health healthcheck.ProxyHealth
	require.NoError(t, json.Unmarshal([]byte(got.body), &health), got.body)
	assert.Equal(t, "application/json", got.header.Get("Content-Type"))
	assert.True(t, health.CurrentTime.Equal(f.clock.Now()))
	sum := fmt.Sprint(got.status)
	for _, family := range []v1.IPFamily{ipv4, ipv6} {
		if status, ok := health.Status[family]; ok && !status.Healthy {
			sum += fmt.Sprint(" ", family)
		}
	}
	assert.Equal(t, sum == fmt.Sprint(got.status), health.Healthy, "healthy is whether every family is")
	if health.LastUpdated.IsZero() {
		return sum + " @never"
	}
	return fmt.Sprintf("%s @%d", sum, int(health.LastUpdated.Sub(start).Seconds()))
}

func TestHealthFollowsUpdates(t *testing.T) {
	type step struct {
		name string
		do   func(*proxyFixture)
		want string
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"nothing was ever queued", []step{
			{"at first", func(*proxyFixture) {}, "200 @0"},
			{"much later", func(f *proxyFixture) { f.after(1000) }, "200 @1000"},
		}},
		{"updated in time", []step{
			{"queued", func(f *proxyFixture) { f.QueuedUpdate(ipv4) }, "200 @0"},
			{"just before the timeout", func(f *proxyFixture) { f.after(59) }, "200 @59"},
			{"updated", func(f *proxyFixture) { f.Updated(ipv4) }, "200 @59"},
			{"nothing queued since", func(f *proxyFixture) { f.after(1000) }, "200 @1000"},
		}},
		{"IPv4 is late", []step{
			{"both updated", func(f *proxyFixture) { f.after(5); f.Updated(ipv4); f.Updated(ipv6) }, "200 @5"},
			{"queued", func(f *proxyFixture) { f.after(10); f.QueuedUpdate(ipv4) }, "200 @10"},
			{"at the timeout", func(f *proxyFixture) { f.after(70) }, "503 IPv4 @5"},
			{"updated", func(f *proxyFixture) { f.Updated(ipv4) }, "200 @70"},
		}},
		{"IPv6 is late", []step{
			{"both updated", func(f *proxyFixture) { f.Updated(ipv4); f.Updated(ipv6) }, "200 @0"},
			{"queued", func(f *proxyFixture) { f.QueuedUpdate(ipv6) }, "200 @0"},
			{"late", func(f *proxyFixture) { f.after(61) }, "503 IPv6 @0"},
			{"updated", func(f *proxyFixture) { f.Updated(ipv6) }, "200 @61"},
		}},
		{"both are late, and each heals itself only", []step{
			{"queued", func(f *proxyFixture) { f.QueuedUpdate(ipv4); f.QueuedUpdate(ipv6) }, "200 @0"},
			{"late", func(f *proxyFixture) { f.after(60); f.QueuedUpdate(ipv4) }, "503 IPv4 IPv6 @never"},
			{"IPv6 updated", func(f *proxyFixture) { f.Updated(ipv6) }, "503 IPv4 @60"},
			{"again", func(f *proxyFixture) { f.after(65); f.Updated(ipv6) }, "503 IPv4 @65"},
			{"IPv4 updated", func(f *proxyFixture) { f.Updated(ipv4) }, "200 @65"},
		}},
		{"the oldest queued update counts", []step{
			{"queued", func(f *proxyFixture) { f.Updated(ipv4); f.QueuedUpdate(ipv4) }, "200 @0"},
			{"queued again", func(f *proxyFixture) { f.after(50); f.QueuedUpdate(ipv4) }, "200 @50"},
			{"the first is late", func(f *proxyFixture) { f.after(60) }, "503 IPv4 @0"},
		}},
		{"an update ends what was queued before it", []step{
			{"queued and updated", func(f *proxyFixture) { f.QueuedUpdate(ipv4); f.Updated(ipv4) }, "200 @0"},
			{"queued later", func(f *proxyFixture) { f.after(30); f.QueuedUpdate(ipv4) }, "200 @30"},
			{"not late yet", func(f *proxyFixture) { f.after(89) }, "200 @89"},
			{"late", func(f *proxyFixture) { f.after(90) }, "503 IPv4 @0"},
		}},
		{"the first update never ends", []step{
			{"queued", func(f *proxyFixture) { f.QueuedUpdate(ipv4) }, "200 @0"},
			{"late", func(f *proxyFixture) { f.after(60) }, "503 IPv4 @never"},
		}},
	}
	for _, test := range tests {
		for _, path := range []string{"/healthz", "/livez"} {
			t.Run(test.name+" "+path, func(t *testing.T) {
				f := newProxyFixture(t)
				for _, step := range test.steps {
					step.do(f)
					assert.Equal(t, step.want, f.health(t, path), step.name)
				}
			})
		}
	}
}

func TestHealthzDependsOnTheNode(t *testing.T) {
	deleted := tainted()
	deleted.DeletionTimestamp = &metav1.Time{Time: start}
	tests := []struct {
		name     string
		node     *v1.Node
		eligible bool
	}{
		{"an ordinary node", tainted(), true},
		{"another taint", tainted("node.kubernetes.io/not-ready"), true},
		{"the cluster autoscaler is about to delete it", tainted("ToBeDeletedByClusterAutoscaler"), false},
		{"among other taints", tainted("other", "ToBeDeletedByClusterAutoscaler", "another"), false},
		{"being deleted", deleted, false},
		{"not there", nil, false},
		{"and back", tainted(), true},
	}
	f := newProxyFixture(t)
	f.Updated(ipv4)
	f.after(5)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f.node.node = test.node
			assert.Equal(t, test.eligible, f.NodeEligible())
			want := "503 @0"
			if test.eligible {
				want = "200 @5"
			}
			assert.Equal(t, want, f.health(t, "/healthz"))
			assert.Contains(t, ask(t, f.url+"/healthz").body, fmt.Sprintf(`"nodeEligible":%v`, test.eligible))
			assert.Equal(t, "200 @5", f.health(t, "/livez"))
			assert.NotContains(t, ask(t, f.url+"/livez").body, "nodeEligible")
			assert.True(t, f.Healthy(), "the rules do not depend on the node")
		})
	}
}

func TestHealthIsWrittenAsKubeProxyDoes(t *testing.T) {
	f := newProxyFixture(t)
	f.Updated(ipv4)
	f.QueuedUpdate(ipv6)
	f.after(1)
	assert.JSONEq(t, `{
		"lastUpdated": "2026-01-02T03:04:06Z", "currentTime": "2026-01-02T03:04:06Z", "nodeEligible": true, "healthy": true,
		"status": {
			"IPv4": {"lastUpdated": "2026-01-02T03:04:05Z", "healthy": true},
			"IPv6": {"lastUpdated": "0001-01-01T00:00:00Z", "healthy": true}
		}}`, ask(t, f.url+"/healthz").body)
	f.after(60)
	assert.JSONEq(t, `{
		"lastUpdated": "2026-01-02T03:04:05Z", "currentTime": "2026-01-02T03:05:05Z", "healthy": false,
		"status": {
			"IPv4": {"lastUpdated": "2026-01-02T03:04:05Z", "healthy": true},
			"IPv6": {"lastUpdated": "0001-01-01T00:00:00Z", "healthy": false}
		}}`, ask(t, f.url+"/livez").body)
	assert.Equal(t, 404, ask(t, f.url+"/").status)
}

func TestAnswersAreCounted(t *testing.T) {
	f := newProxyFixture(t)
	ask(t, f.url+"/healthz")
	ask(t, f.url+"/livez")
	ask(t, f.url+"/livez")
	f.node.node = nil
	ask(t, f.url+"/healthz")
	ask(t, f.url+"/livez")
	f.QueuedUpdate(ipv4)
	f.after(60)
	ask(t, f.url+"/healthz")
	ask(t, f.url+"/livez")
	ask(t, f.url+"/other")
	assert.Equal(t, tally{"healthz 200": 1, "healthz 503": 2, "livez 200": 3, "livez 503": 1}, f.metrics)
}
