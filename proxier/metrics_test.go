package proxier_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/proxier/metrics"
	"github.com/chainwalk/chainwalk/proxier/nfacct"
)

// upstream lists the metrics of kube-proxy's iptables mode with the type and
// the labels that they have there.
var upstream = []struct{ name, kind, labels string }{
	{"kubeproxy_sync_proxy_rules_duration_seconds", "histogram", "ip_family"},
	{"kubeproxy_sync_full_proxy_rules_duration_seconds", "histogram", "ip_family"},
	{"kubeproxy_sync_partial_proxy_rules_duration_seconds", "histogram", "ip_family"},
	{"kubeproxy_network_programming_duration_seconds", "histogram", "ip_family"},
	{"kubeproxy_sync_proxy_rules_last_timestamp_seconds", "gauge", "ip_family"},
	{"kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds", "gauge", "ip_family"},
	{"kubeproxy_sync_proxy_rules_endpoint_changes_pending", "gauge", ""},
	{"kubeproxy_sync_proxy_rules_service_changes_pending", "gauge", ""},
	{"kubeproxy_sync_proxy_rules_endpoint_changes_total", "counter", ""},
	{"kubeproxy_sync_proxy_rules_service_changes_total", "counter", ""},
	{"kubeproxy_sync_proxy_rules_iptables_total", "gauge", "ip_family table"},
	{"kubeproxy_sync_proxy_rules_iptables_last", "gauge", "ip_family table"},
	{"kubeproxy_sync_proxy_rules_iptables_restore_failures_total", "counter", "ip_family"},
	{"kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total", "counter", "ip_family"},
	{"kubeproxy_sync_proxy_rules_no_local_endpoints_total", "gauge", "ip_family traffic_policy"},
	{"kubeproxy_conntrack_reconciler_sync_duration_seconds", "histogram", "ip_family"},
	{"kubeproxy_conntrack_reconciler_deleted_entries_total", "counter", "ip_family"},
	{"kubeproxy_iptables_ct_state_invalid_dropped_packets_total", "counter", ""},
	{"kubeproxy_iptables_localhost_nodeports_accepted_packets_total", "counter", ""},
	{"kubeproxy_proxy_healthz_total", "counter", "code"},
	{"kubeproxy_proxy_livez_total", "counter", "code"},
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 500_000_000, time.UTC)

// counters are accounting objects; one that is not there cannot be read.
type counters map[string]uint64

func (c counters) Counter(name string) (uint64, error) {
	packets, ok := c[name]
	if !ok {
		return 0, errors.New("no such object")
	}
	return packets, nil
}

func newMetrics(t *testing.T) (*metrics.Metrics, basemetrics.KubeRegistry) {
	t.Helper()
	registry := basemetrics.NewKubeRegistry()
	m, err := metrics.New(registry)
	require.NoError(t, err)
	return m, registry
}

// useAll gives every metric of the family a value.
func useAll(m *metrics.Metrics, family v1.IPFamily) {
	f := m.ForFamily(family)
	f.Queued(start)
	f.ServiceEvent(3)
	f.EndpointSliceEvent(4)
	f.FullSyncTook(3 * time.Millisecond)
	f.PartialSyncTook(time.Millisecond)
	f.Synced(start.Add(time.Second), map[types.NamespacedName][]time.Time{
		{Namespace: "shop", Name: "web"}:  {start, start.Add(-time.Second)},
		{Namespace: "shop", Name: "mail"}: {start.Add(-time.Minute)},
	})
	f.RestoreFailed()
	f.PartialSyncFailed()
	f.SetRules("filter", 20, 10)
	f.SetRules("nat", 40, 30)
	f.SetNoLocalEndpoints(1, 2)
	f.ConntrackCleaned(2*time.Millisecond, 7)
	m.CountHealthz(503)
	m.CountLivez(200)
}

func TestEveryMetricHasUpstreamsNameTypeAndLabels(t *testing.T) {
	m, registry := newMetrics(t)
	objects := counters{nfacct.InvalidPackets: 5, nfacct.LocalhostPackets: 6}
	require.NoError(t, metrics.RegisterPacketCounters(registry, objects, klog.Logger{}))
	useAll(m, v1.IPv4Protocol)

	got := scrape(t, registry)
	names := map[string]bool{}
	for _, want := range upstream {
		names[want.name] = true
		assert.Equal(t, want.kind, got.types[want.name], want.name)
		assert.Equal(t, want.labels, got.labels(want.name), want.name)
		assert.True(t, strings.HasPrefix(got.help[want.name], "[ALPHA] "), "%s: %s", want.name, got.help[want.name])
	}
	for name := range got.types {
		assert.True(t, names[name], "%s is not upstream's", name)
	}
}

func TestValuesGoToTheirMetrics(t *testing.T) {
	m, registry := newMetrics(t)
	useAll(m, v1.IPv4Protocol)
	got := scrape(t, registry)
	const unix = 1767323045.5
	for sample, want := range map[string]float64{
		`sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv4"}`:                      unix,
		`sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"}`:                             unix + 1,
		`sync_proxy_rules_duration_seconds_count{ip_family="IPv4"}`:                             2,
		`sync_proxy_rules_duration_seconds_sum{ip_family="IPv4"}`:                               0.004,
		`sync_full_proxy_rules_duration_seconds_sum{ip_family="IPv4"}`:                          0.003,
		`sync_partial_proxy_rules_duration_seconds_sum{ip_family="IPv4"}`:                       0.001,
		`network_programming_duration_seconds_count{ip_family="IPv4"}`:                          3,
		`network_programming_duration_seconds_sum{ip_family="IPv4"}`:                            1 + 2 + 61,
		`sync_proxy_rules_service_changes_total`:                                                1,
		`sync_proxy_rules_service_changes_pending`:                                              3,
		`sync_proxy_rules_endpoint_changes_total`:                                               1,
		`sync_proxy_rules_endpoint_changes_pending`:                                             4,
		`sync_proxy_rules_iptables_total{ip_family="IPv4",table="filter"}`:                      20,
		`sync_proxy_rules_iptables_last{ip_family="IPv4",table="filter"}`:                       10,
		`sync_proxy_rules_iptables_total{ip_family="IPv4",table="nat"}`:                         40,
		`sync_proxy_rules_iptables_last{ip_family="IPv4",table="nat"}`:                          30,
		`sync_proxy_rules_iptables_restore_failures_total{ip_family="IPv4"}`:                    1,
		`sync_proxy_rules_iptables_partial_restore_failures_total{ip_family="IPv4"}`:            1,
		`sync_proxy_rules_no_local_endpoints_total{ip_family="IPv4",traffic_policy="internal"}`: 1,
		`sync_proxy_rules_no_local_endpoints_total{ip_family="IPv4",traffic_policy="external"}`: 2,
		`conntrack_reconciler_sync_duration_seconds_sum{ip_family="IPv4"}`:                      0.002,
		`conntrack_reconciler_deleted_entries_total{ip_family="IPv4"}`:                          7,
		`proxy_healthz_total{code="503"}`:                                                       1,
		`proxy_livez_total{code="200"}`:                                                         1,
	} {
		value, ok := got.samples["kubeproxy_"+sample]
		assert.True(t, ok, "%s is missing", sample)
		assert.InDelta(t, want, value, 1e-9, sample)
	}
}

func TestHistogramsHaveUpstreamsBuckets(t *testing.T) {
	m, registry := newMetrics(t)
	useAll(m, v1.IPv6Protocol)
	got := scrape(t, registry)
	for _, test := range []struct {
		metric  string
		buckets int
		ends    []string
	}{
		{"sync_proxy_rules_duration_seconds", 16, []string{"0.001", "0.002", "0.512", "16.384", "+Inf"}},
		{"sync_full_proxy_rules_duration_seconds", 16, []string{"0.001", "16.384"}},
		{"sync_partial_proxy_rules_duration_seconds", 16, []string{"0.001", "16.384"}},
		{"conntrack_reconciler_sync_duration_seconds", 16, []string{"0.001", "16.384"}},
		{"network_programming_duration_seconds", 82, []string{"0", "0.25", "0.5", "1", "2", "59", "60", "65", "115", "120", "150", "300",
			"+Inf"}},
	} {
		series := "kubeproxy_" + test.metric + `_bucket{ip_family="IPv6",`
		assert.Equal(t, test.buckets, got.buckets(series), test.metric)
		for _, end := range test.ends {
			assert.Contains(t, got.samples, series+`le="`+end+`"}`)
		}
	}
}

func TestMetricsWithLabelsBeginWithTheirFirstValue(t *testing.T) {
	_, registry := newMetrics(t)
	got := scrape(t, registry)
	assert.NotContains(t, got.types, "kubeproxy_sync_proxy_rules_last_timestamp_seconds")
	assert.Contains(t, got.types, "kubeproxy_sync_proxy_rules_service_changes_total")
}

func TestPendingChangesAreThoseOfBothFamilies(t *testing.T) {
	m, registry := newMetrics(t)
	ipv4, ipv6 := m.ForFamily(v1.IPv4Protocol), m.ForFamily(v1.IPv6Protocol)
	for _, step := range []struct {
		name                string
		do                  func()
		services, endpoints float64
	}{
		{"IPv4 has changes", func() { ipv4.ServiceEvent(2); ipv4.EndpointSliceEvent(1) }, 2, 1},
		{"IPv6 too", func() { ipv6.ServiceEvent(3); ipv6.EndpointSliceEvent(5) }, 5, 6},
		{"a change of IPv4 is taken back", func() { ipv4.ServiceEvent(1) }, 4, 6},
		{"IPv4 syncs", func() { ipv4.ChangesTaken() }, 3, 5},
		{"IPv6 syncs", func() { ipv6.ChangesTaken() }, 0, 0},
	} {
		step.do()
		got := scrape(t, registry)
		assert.Equal(t, step.services, got.samples["kubeproxy_sync_proxy_rules_service_changes_pending"], step.name)
		assert.Equal(t, step.endpoints, got.samples["kubeproxy_sync_proxy_rules_endpoint_changes_pending"], step.name)
	}
	got := scrape(t, registry)
	assert.Equal(t, 3.0, got.samples["kubeproxy_sync_proxy_rules_service_changes_total"])
	assert.Equal(t, 2.0, got.samples["kubeproxy_sync_proxy_rules_endpoint_changes_total"])
}

func TestPacketCountersAreReadWithEachScrape(t *testing.T) {
	const (
		invalid   = "kubeproxy_iptables_ct_state_invalid_dropped_packets_total"
		localhost = "kubeproxy_iptables_localhost_nodeports_accepted_packets_total"
	)
	registry := basemetrics.NewKubeRegistry()
	objects := counters{nfacct.InvalidPackets: 5}
	var logged []string
	logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	require.NoError(t, metrics.RegisterPacketCounters(registry, objects, logger))

	got := scrape(t, registry)
	assert.Equal(t, map[string]float64{invalid: 5}, got.samples, "the other object cannot be read")
	require.Len(t, logged, 1)
	assert.Contains(t, logged[0], "localhost_nps_accepted_pkts")
	assert.Contains(t, logged[0], "no such object")

	objects[nfacct.InvalidPackets] = 1 << 33
	objects[nfacct.LocalhostPackets] = 1
	got = scrape(t, registry)
	assert.Equal(t, map[string]float64{invalid: 1 << 33, localhost: 1}, got.samples)
	assert.Len(t, logged, 1)
}

func TestRegistryOfAnother(t *testing.T) {
	_, registry := newMetrics(t)
	_, err := metrics.New(registry)
	require.ErrorContains(t, err, "kubeproxy_sync_proxy_rules_duration_seconds")
	require.ErrorContains(t, err, "kubeproxy_proxy_livez_total")

	require.NoError(t, metrics.RegisterPacketCounters(registry, counters{}, klog.Logger{}))
	require.Error(t, metrics.RegisterPacketCounters(registry, counters{}, klog.Logger{}))
}

func TestWithoutRegistryNothingIsMeasured(t *testing.T) {
	m, err := metrics.New(nil)
	require.NoError(t, err)
	assert.NotPanics(t, func() { useAll(m, v1.IPv4Protocol) })
}
