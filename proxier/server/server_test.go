package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	kubeproxy "k8s.io/kube-proxy/config/v1alpha1"

	_ "github.com/chainwalk/chainwalk/internal/garbage"
	"github.com/chainwalk/chainwalk/proxier/server"
)

func TestRunStartsInOrder(t *testing.T) {
	m := newMachine(t)
	m.start(t)
	// The families sync side by side.
	m.awaitSync(t, "iptables-restore")
	m.awaitSync(t, "ip6tables-restore")
	journal := m.noted()
	last := -1
	for _, entry := range []string{"list nodes", "oom score -999", "settings", "iptables --version", "ip6tables --version",
		"iptables-restore"} {
		place := slices.Index(journal, entry)
		assert.Greater(t, place, last, "%s: %v", entry, journal)
		last = place
	}
	assert.Greater(t, slices.Index(journal, "create events"), slices.Index(journal, "ip6tables --version"))
	m.stop()
	require.NoError(t, <-m.done)
}

func TestRunRefusesBeforeItStartsAnything(t *testing.T) {
	tests := []struct {
		name   string
		change func(*kubeproxy.KubeProxyConfiguration)
		want   string
	}{
		{"bad value", func(c *kubeproxy.KubeProxyConfiguration) { bit := int32(32); c.IPTables.MasqueradeBit = &bit },
			"KubeProxyConfiguration.iptables.masqueradeBit: Invalid value: 32: must be 0 to 31"},
		{"another mode", func(c *kubeproxy.KubeProxyConfiguration) { c.Mode = "ipvs" }, "not supported: iptables and nftables are"},
		{"blank node name", func(c *kubeproxy.KubeProxyConfiguration) { c.HostnameOverride = " " }, "the node's name is empty"},
		{"hidden metrics", func(c *kubeproxy.KubeProxyConfiguration) { c.ShowHiddenMetricsForVersion = "1.35" },
			"KubeProxyConfiguration.showHiddenMetricsForVersion: Invalid value: \"1.35\": not supported: no metric is hidden in any version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(t)
			test.change(&m.configuration)
			require.ErrorContains(t, m.run(t.Context()), test.want)
			assert.Empty(t, m.noted())
			_, err := net.Dial("tcp", m.configuration.MetricsBindAddress)
			require.Error(t, err)
		})
	}
}

func TestRunEndsWhenTheNodeIsDeleted(t *testing.T) {
	m := newMachine(t)
	m.start(t)
	m.awaitSync(t, "iptables-restore")
	require.NoError(t, m.client.CoreV1().Nodes().Delete(t.Context(), "here", metav1.DeleteOptions{}))
	require.ErrorIs(t, <-m.done, server.ErrNodeChanged)
	_, err := net.Dial("tcp", m.configuration.HealthzBindAddress)
	require.Error(t, err, "nobody listens any longer")
}

func TestRunEndsWhenTheNodeHasOtherAddresses(t *testing.T) {
	m := newMachine(t)
	m.start(t)
	m.awaitSync(t, "iptables-restore")
	node, err := m.client.CoreV1().Nodes().Get(t.Context(), "here", metav1.GetOptions{})
	require.NoError(t, err)
	node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.168.0.77"}}
	_, err = m.client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, <-m.done, server.ErrNodeChanged)
}

func TestRunServesTheFamiliesThatHaveTools(t *testing.T) {
	without := func(prefix string) func([]string) string {
		return func(argv []string) string {
			if strings.HasPrefix(argv[0], prefix) {
				return "no such tool here"
			}
			return ""
		}
	}
	t.Run("the other family's are missing", func(t *testing.T) {
		m := newMachine(t)
		m.refuse = without("ip6tables")
		m.start(t)
		m.awaitSync(t, "iptables-restore")
		_, health := ask(t, http.MethodGet, m.configuration.HealthzBindAddress+"/healthz", "")
		assert.Contains(t, health, `"IPv4"`)
		assert.NotContains(t, health, `"IPv6"`)
		assert.Zero(t, m.count("ip6tables-restore"))
	})
	for _, prefix := range []string{"iptables", "ip"} {
		t.Run("no "+prefix, func(t *testing.T) {
			m := newMachine(t)
			m.refuse = without(prefix)
			err := m.run(t.Context())
			require.ErrorContains(t, err, "the node's primary family is IPv4: ")
			require.ErrorContains(t, err, "no such tool here")
			assert.Zero(t, m.count("create events"), "it has not started")
		})
	}
	t.Run("the pods are of the other family", func(t *testing.T) {
		m := newMachine(t)
		m.refuse = without("ip6tables")
		m.configuration.ClusterCIDR = "fd00:10:244::/56"
		require.EqualError(t, m.run(t.Context()), "only IPv4 is served, but clusterCIDR fd00:10:244::/56 has no range of it: "+
			"correct clusterCIDR, or install the other family's tools")
		m.refuse = nil
		m.start(t)
		m.awaitSync(t, "iptables-restore") // with both families it is a warning
	})
	t.Run("the primary family is IPv6", func(t *testing.T) {
		m := newMachine(t)
		m.refuse = without("iptables")
		m.configuration.BindAddress = "2001:db8::1"
		m.configuration.ClusterCIDR = "fd00:10:244::/56"
		m.start(t)
		m.awaitSync(t, "ip6tables-restore")
		assert.Zero(t, m.count("iptables-restore"))
	})
}

func TestBindAddressHardFail(t *testing.T) {
	places := map[string]func(*kubeproxy.KubeProxyConfiguration) string{
		"health":  func(c *kubeproxy.KubeProxyConfiguration) string { return c.HealthzBindAddress },
		"metrics": func(c *kubeproxy.KubeProxyConfiguration) string { return c.MetricsBindAddress },
	}
	for name, place := range places {
		t.Run(name+": it ends", func(t *testing.T) {
			m := newMachine(t)
			m.configuration.BindAddressHardFail = true
			address := place(&m.configuration)
			occupy(t, address)
			require.EqualError(t, m.run(t.Context()), fmt.Sprintf("serving %s at %s: listen tcp %s: bind: address already in use", name, address,
				address))
		})
		t.Run(name+": it tries again", func(t *testing.T) {
			m := newMachine(t)
			address := place(&m.configuration)
			leave := occupy(t, address)
			m.start(t)
			m.await(t, "rules", func() bool { return m.count("iptables-restore") > 0 })
			leave()
			m.await(t, "a server", func() bool {
				m.clock.Step(server.BindInterval)
				status, _ := ask(t, http.MethodGet, address+"/healthz", "")
				return status == http.StatusOK
			})
		})
	}
}

func TestEvents(t *testing.T) {
	m := newMachine(t)
	m.readOnly = true
	m.start(t)
	found := map[string]string{}
	m.await(t, "all events", func() bool {
		events, err := m.client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, event := range events.Items {
			found[event.Reason] = fmt.Sprintf("%s %s %s %s", event.Type, event.Regarding.Kind, event.Regarding.Name, event.Note)
		}
		return len(found) == 3
	})
	assert.Equal(t, "Normal Node here ", found["Starting"])
	assert.Regexp(t, "^Warning Node here .*mode.*iptables.*nftables.*v1.40", found["KubeProxyDefaultMode"])
	assert.Regexp(t, "^Warning Node here The node needs repair: .*/proc/sys/net/netfilter/nf_conntrack_max = 131072", found["ReadOnlySysctls"])
}

// TestEventsThatNobodyTakes has no API server answer the first time, which is tried again when its time has come, and one refuse, which is
// not.
func TestEventsThatNobodyTakes(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		starts int // how often the event "Starting" is written
	}{
		{"no answer", errors.New("connection refused"), 2},
		{"refused", apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.configuration.Mode = "iptables" // so that there is no other event
			var lock sync.Mutex
			var instances []string
			m.client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, apiruntime.Object, error) {
				lock.Lock()
				defer lock.Unlock()
				event := a.(clienttesting.CreateAction).GetObject().(*eventsv1.Event)
				instances = append(instances, strings.Join([]string{event.Namespace, event.Reason, event.Action, event.ReportingInstance}, " "))
				return len(instances) == 1, nil, c.err
			})
			tried := func() []string {
				lock.Lock()
				defer lock.Unlock()
				return slices.Clone(instances)
			}
			m.start(t)
			m.await(t, "an event", func() bool { return len(tried()) > 0 })
			m.await(t, "another try", func() bool {
				m.clock.Step(server.EventInterval)
				return len(tried()) == c.starts
			})
			assert.False(t, m.soon(func() bool {
				m.clock.Step(server.EventInterval)
				return len(tried()) > c.starts
			}), "it is written, or refused")
			assert.Equal(t, slices.Repeat([]string{"default Starting StartKubeProxy kube-proxy-here"}, c.starts), tried())
		})
	}
}

func TestMetricsAddressServes(t *testing.T) {
	for _, profiling := range []bool{false, true} {
		t.Run(fmt.Sprintf("profiling %v", profiling), func(t *testing.T) {
			m := newMachine(t)
			m.configuration.EnableProfiling = profiling
			m.start(t)
			m.awaitSync(t, "iptables-restore")
			get := func(path string) (int, string) {
				return ask(t, http.MethodGet, m.configuration.MetricsBindAddress+path, "")
			}
			// It is served beside everything else, and the health that was waited for is at another address. A sync is measured at
			// its end, after the restore.
			m.await(t, "the metrics of a sync", func() bool {
				_, page := get("/metrics")
				return strings.Contains(page, "kubeproxy_sync_proxy_rules_duration_seconds")
			})
			for path, want := range map[string]string{
				"/healthz": "ok", "/proxyMode": "iptables", "/metrics": "kubeproxy_sync_proxy_rules_duration_seconds",
				"/configz": `"kubeproxy.config.k8s.io":{"kind":"KubeProxyConfiguration"`,
			} {
				status, body := get(path)
				assert.Equal(t, http.StatusOK, status, path)
				assert.Contains(t, body, want)
			}
			want := http.StatusNotFound
			if profiling {
				want = http.StatusOK
			}
			for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=1"} {
				status, _ := get(path)
				assert.Equal(t, want, status, path)
			}
			testVerbosity(t, m.configuration.MetricsBindAddress+"/debug/flags/v", want)
		})
	}
}

// testVerbosity sets the level of the log, and puts it back.
func testVerbosity(t *testing.T, url string, want int) {
	t.Helper()
	require.False(t, klog.V(4).Enabled())
	status, _ := ask(t, http.MethodPut, url, "4")
	assert.Equal(t, want, status)
	assert.Equal(t, want == http.StatusOK, klog.V(4).Enabled())
	if want != http.StatusOK {
		return
	}
	status, _ = ask(t, http.MethodPut, url, "loud")
	assert.Equal(t, http.StatusBadRequest, status)
	status, _ = ask(t, http.MethodGet, url, "")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
	status, _ = ask(t, http.MethodPut, url, "0")
	assert.Equal(t, http.StatusOK, status)
	assert.False(t, klog.V(4).Enabled())
}

// healthChecked is a Service with a health check port.
func healthChecked(port int32) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, ClusterIP: "172.30.0.41", ClusterIPs: []string{"172.30.0.41"},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: port,
			Ports: []v1.ServicePort{{Port: 80, NodePort: 30080, Protocol: v1.ProtocolTCP}}},
	}
}

func TestHealthCheckPortIsTriedAgainWithoutASync(t *testing.T) {
	m := newMachine(t)
	place := freePlace(t)
	address, err := net.ResolveTCPAddr("tcp", place)
	require.NoError(t, err)
	leave := occupy(t, place)
	_, err = m.client.CoreV1().Services("default").Create(t.Context(), healthChecked(int32(address.Port)), metav1.CreateOptions{})
	require.NoError(t, err)
	m.start(t)
	m.awaitSync(t, "iptables-restore")
	syncs := m.count("iptables-restore")
	leave()
	m.await(t, "a health check", func() bool {
		m.clock.Step(server.BindInterval)
		status, body := ask(t, http.MethodGet, place, "")
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"localEndpoints": 0`)
	})
	assert.Equal(t, syncs, m.count("iptables-restore"))
}

// What a flush has removed is tried again even if nothing else happens, when the rules could not be written at once.
func TestReloadThatFailsIsTriedAgain(t *testing.T) {
	m := newMachine(t)
	m.start(t)
	m.awaitSync(t, "iptables-restore")
	m.awaitSync(t, "ip6tables-restore")
	// Somebody flushed table nat of IPv4: one look for the jump does not find it.
	var looked, restored bool
	m.refusing(func(argv []string) string {
		switch {
		case argv[0] == "iptables" && slices.Contains(argv, "-C") && slices.Contains(argv, "nat") && !looked:
			looked = true
			return "iptables: Bad rule (does a matching rule exist in that chain?)."
		case argv[0] == "iptables-restore" && !restored:
			restored = true
			return "iptables-restore: line 1 failed"
		}
		return ""
	})
	syncs := m.count("iptables-restore")
	for range 50 { // less than an hour, after which everything is synced anyway
		m.clock.Step(31 * time.Second) // more than the sync period
		if m.soon(func() bool { return m.count("iptables-restore") > syncs }) {
			return
		}
	}
	assert.Fail(t, "the rules are missing")
}

func TestRunLeavesNoGoroutines(t *testing.T) {
	m := newMachine(t)
	_, err := m.client.CoreV1().Services("default").Create(t.Context(), healthChecked(0), metav1.CreateOptions{})
	require.NoError(t, err)
	m.start(t)
	m.awaitSync(t, "ip6tables-restore")
	assert.NotEmpty(t, goroutines())
	m.stop()
	require.NoError(t, <-m.done)
	for _, stack := range goroutines() {
		assert.NotContains(t, stack, "chainwalk/proxier/runner.", "what writes rules has ended when Run returns")
		assert.NotContains(t, stack, "net/http.(*Server).Serve(", "so have the servers")
	}
	// The informers end after their context.
	require.Eventually(t, func() bool { return len(goroutines()) == 0 }, patience, 10*time.Millisecond)
}

// goroutines returns the stacks of those that a proxy may have started.
func goroutines() []string {
	stacks := make([]byte, 1<<20)
	all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	return slices.DeleteFunc(all, func(stack string) bool {
		own := strings.Contains(stack, "chainwalk/proxier/") || strings.Contains(stack, "k8s.io/client-go") || strings.Contains(stack,
			"net/http.(*Server)")
		return !own || strings.Contains(stack, "testing.tRunner") || strings.Contains(stack, "testify/assert.Eventually")
	})
}

func TestRunEndsWhileItWaits(t *testing.T) {
	m := newMachine(t)
	require.NoError(t, m.client.CoreV1().Nodes().Delete(t.Context(), "here", metav1.DeleteOptions{}))
	ctx, stop := context.WithCancelCause(t.Context())
	go func() { m.done <- m.run(ctx) }()
	m.await(t, "the wait for the node", func() bool { return m.clock.HasWaiters() })
	stop(assert.AnError)
	require.NoError(t, <-m.done, "the cause is the caller's and not a failure")
	assert.Zero(t, m.count("iptables-restore"))
}

// The rules do not depend on the ranges, so that an API server may lack them, as in the other tests.
func TestRunWatchesServiceCIDRs(t *testing.T) {
	m := newMachine(t)
	m.client.Resources = []*metav1.APIResourceList{{
		GroupVersion: "networking.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "servicecidrs"}},
	}}
	m.start(t)
	m.await(t, "watch of ServiceCIDRs", func() bool {
		return slices.ContainsFunc(m.client.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", "servicecidrs") })
	})
	m.stop()
	require.NoError(t, <-m.done)
}
