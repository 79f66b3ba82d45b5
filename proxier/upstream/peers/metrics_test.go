package peers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	basemetrics "k8s.io/component-base/metrics"
	kubemetrics "k8s.io/kubernetes/pkg/proxy/metrics"

	"github.com/chainwalk/chainwalk/proxier/metrics"
)

// TestMetricsAreDeclaredAsThoseOfKubeProxy compares names, types, labels and buckets, each metric used once. The two that read
// accounting objects are not among them: kube-proxy's need a netlink socket.
func TestMetricsAreDeclaredAsThoseOfKubeProxy(t *testing.T) {
	theirs := declarations(useKubeMetrics())
	ours := declarations(useOurMetrics(t))
	assert.Len(t, theirs, 19)
	assert.Equal(t, theirs, ours)
}

func useKubeMetrics() basemetrics.Gatherer {
	registry := basemetrics.NewKubeRegistry()
	for _, m := range []*basemetrics.HistogramVec{
		kubemetrics.SyncProxyRulesLatency, kubemetrics.SyncFullProxyRulesLatency, kubemetrics.SyncPartialProxyRulesLatency,
		kubemetrics.NetworkProgrammingLatency, kubemetrics.ReconcileConntrackFlowsLatency,
	} {
		registry.MustRegister(m)
		m.WithLabelValues("IPv4").Observe(1)
	}
	for _, m := range []*basemetrics.CounterVec{
		kubemetrics.IPTablesRestoreFailuresTotal, kubemetrics.IPTablesPartialRestoreFailuresTotal,
		kubemetrics.ReconcileConntrackFlowsDeletedEntriesTotal, kubemetrics.ProxyHealthzTotal, kubemetrics.ProxyLivezTotal,
	} {
		registry.MustRegister(m)
		m.WithLabelValues("IPv4").Inc()
	}
	for _, m := range []*basemetrics.GaugeVec{kubemetrics.SyncProxyRulesLastTimestamp, kubemetrics.SyncProxyRulesLastQueuedTimestamp} {
		registry.MustRegister(m)
		m.WithLabelValues("IPv4").Set(1)
	}
	for _, m := range []*basemetrics.GaugeVec{
		kubemetrics.IPTablesRulesTotal, kubemetrics.IPTablesRulesLastSync, kubemetrics.SyncProxyRulesNoLocalEndpointsTotal,
	} {
		registry.MustRegister(m)
		m.WithLabelValues("nat", "IPv4").Set(1)
	}
	registry.MustRegister(kubemetrics.EndpointChangesPending, kubemetrics.EndpointChangesTotal,
		kubemetrics.ServiceChangesPending, kubemetrics.ServiceChangesTotal)
	return registry
}

func useOurMetrics(t *testing.T) basemetrics.Gatherer {
	registry := basemetrics.NewKubeRegistry()
	m, err := metrics.New(registry)
	require.NoError(t, err)
	f := m.ForFamily(v1.IPv4Protocol)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Queued(now)
	f.ServiceEvent(1)
	f.EndpointSliceEvent(1)
	f.FullSyncTook(time.Second)
	f.PartialSyncTook(time.Second)
	f.Synced(now, map[types.NamespacedName][]time.Time{{}: {now}})
	f.RestoreFailed()
	f.PartialSyncFailed()
	f.SetRules("nat", 1, 1)
	f.SetNoLocalEndpoints(1, 1)
	f.ConntrackCleaned(time.Second, 1)
	m.CountHealthz(200)
	m.CountLivez(200)
	return registry
}

// declarations are the metrics without their values and help.
func declarations(gatherer basemetrics.Gatherer) map[string]string {
	all := map[string]string{}
	for _, m := range gather(gatherer) {
		sample := m.GetMetric()[0]
		all[m.GetName()] = fmt.Sprint(m.GetType(), labelNames(sample), buckets(sample))
	}
	return all
}

func labelNames(sample *dto.Metric) []string {
	var names []string
	for _, label := range sample.GetLabel() {
		names = append(names, label.GetName())
	}
	slices.Sort(names)
	return names
}

func buckets(sample *dto.Metric) []float64 {
	var bounds []float64
	for _, b := range sample.GetHistogram().GetBucket() {
		bounds = append(bounds, b.GetUpperBound())
	}
	return bounds
}
