package peers

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	dto "github.com/prometheus/client_model/go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	kubemetrics "k8s.io/kubernetes/pkg/proxy/metrics"
)

// familyLabel is the label that says which family a value is of.
const familyLabel = "ip_family"

// comparedMetrics are the metrics whose values must be the same: how many rules there are and were written, what failed, what
// has no endpoints on the node, and how many events came.
var comparedMetrics = []string{
	"kubeproxy_sync_proxy_rules_iptables_total",
	"kubeproxy_sync_proxy_rules_iptables_last",
	"kubeproxy_sync_proxy_rules_no_local_endpoints_total",
	"kubeproxy_sync_proxy_rules_iptables_restore_failures_total",
	"kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total",
	"kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
	"kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total",
	"kubeproxy_sync_proxy_rules_service_changes_total",
	"kubeproxy_sync_proxy_rules_endpoint_changes_total",
}

// kubeRegistry holds kube-proxy's metrics that are compared; they count for the whole process. They do not count before
// they are registered somewhere.
var kubeRegistry = sync.OnceValue(func() metrics.KubeRegistry {
	registry := metrics.NewKubeRegistry()
	registry.MustRegister(kubemetrics.IPTablesRulesTotal, kubemetrics.IPTablesRulesLastSync,
		kubemetrics.SyncProxyRulesNoLocalEndpointsTotal,
		kubemetrics.NFTablesSyncFailuresTotal, kubemetrics.NFTablesCleanupFailuresTotal,
		kubemetrics.IPTablesRestoreFailuresTotal, kubemetrics.IPTablesPartialRestoreFailuresTotal,
		kubemetrics.ServiceChangesTotal, kubemetrics.EndpointChangesTotal)
	return registry
})

// valuesOf reads the compared metrics of one family, by name and labels. Those of both families together are IPv4's.
func valuesOf(gatherer metrics.Gatherer, family v1.IPFamily) map[string]float64 {
	values := map[string]float64{}
	for _, m := range gather(gatherer) {
		if !slices.Contains(comparedMetrics, m.GetName()) {
			continue
		}
		for _, sample := range m.GetMetric() {
			name, of := labelled(m.GetName(), sample)
			if of == string(family) || of == "" && family == v1.IPv4Protocol {
				values[name] = sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
			}
		}
	}
	return values
}

func gather(gatherer metrics.Gatherer) []*dto.MetricFamily {
	families, err := gatherer.Gather()
	if err != nil {
		panic(fmt.Sprintf("gathering metrics: %v", err))
	}
	return families
}

// labelled is the metric's name with the labels of a sample, but for the family, which is returned.
func labelled(name string, sample *dto.Metric) (text, family string) {
	var labels []string
	for _, label := range sample.GetLabel() {
		if label.GetName() == familyLabel {
			family = label.GetValue()
			continue
		}
		labels = append(labels, label.GetName()+"="+label.GetValue())
	}
	slices.Sort(labels)
	return name + "{" + strings.Join(labels, ",") + "}", family
}
