package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/component-base/metrics"
)

// subsystem begins every name.
const subsystem = "kubeproxy"

// The labels and their order in calls.
const (
	familyLabel = "ip_family"
	tableLabel  = "table"
	policyLabel = "traffic_policy"
	codeLabel   = "code"
)

// Registry is where metrics are registered, for example a
// metrics.KubeRegistry of k8s.io/component-base.
type Registry interface {
	Register(metrics.Registerable) error
	CustomRegister(metrics.StableCollector) error
}

// Metrics are the metrics of one proxy, of both families.
type Metrics struct {
	syncDuration        *metrics.HistogramVec
	fullSyncDuration    *metrics.HistogramVec
	partialSyncDuration *metrics.HistogramVec
	programmingDuration *metrics.HistogramVec
	lastSynced          *metrics.GaugeVec
	lastQueued          *metrics.GaugeVec

	serviceChanges          *metrics.Counter
	endpointChanges         *metrics.Counter
	pendingServiceChanges   *pending
	pendingEndpointsChanges *pending

	rules                  *metrics.GaugeVec
	rulesWritten           *metrics.GaugeVec
	restoreFailures        *metrics.CounterVec
	partialRestoreFailures *metrics.CounterVec
	transactionFailures    *metrics.CounterVec
	cleanupFailures        *metrics.CounterVec
	noLocalEndpoints       *metrics.GaugeVec

	conntrackDuration *metrics.HistogramVec
	conntrackDeleted  *metrics.CounterVec

	healthz *metrics.CounterVec
	livez   *metrics.CounterVec
}

// New returns metrics of mode iptables that are registered. Two of them cannot share a
// registry: that is an error, after which the registry must not be used. With
// a nil registry nothing is measured.
func New(registry Registry) (*Metrics, error) {
	return newMetrics(registry, registry, nil)
}

// NewNFTables returns metrics of mode nftables, otherwise as New does. What is particular to the other mode is not measured.
func NewNFTables(registry Registry) (*Metrics, error) {
	return newMetrics(registry, nil, registry)
}

// newMetrics registers what is particular to a mode with a registry of its own, which is nil in the other mode.
func newMetrics(registry, iptables, nftables Registry) (*Metrics, error) {
	b := builder{registry: registry}
	ipt, nft := builder{registry: iptables}, builder{registry: nftables}
	m := &Metrics{
		syncDuration: b.histogram("sync_proxy_rules_duration_seconds",
			"How long a sync of the rules took, failed or not", syncBuckets(), familyLabel),
		fullSyncDuration: b.histogram("sync_full_proxy_rules_duration_seconds",
			"How long a sync of all rules took", syncBuckets(), familyLabel),
		partialSyncDuration: b.histogram("sync_partial_proxy_rules_duration_seconds",
			"How long a sync of the changed rules took", syncBuckets(), familyLabel),
		programmingDuration: b.histogram("network_programming_duration_seconds",
			"Time from a change in the cluster until this node's rules followed it", programmingBuckets(), familyLabel),
		lastSynced: b.gauge("sync_proxy_rules_last_timestamp_seconds",
			"Unix time at which rules were last written without an error", familyLabel),
		lastQueued: b.gauge("sync_proxy_rules_last_queued_timestamp_seconds",
			"Unix time at which a sync was last asked for", familyLabel),

		serviceChanges: b.counter("sync_proxy_rules_service_changes_total",
			"Events of Services received; each family counts its own"),
		endpointChanges: b.counter("sync_proxy_rules_endpoint_changes_total",
			"Events of EndpointSlices received; each family counts its own"),
		pendingServiceChanges: b.pending("sync_proxy_rules_service_changes_pending",
			"Services with changes that no sync has taken up yet"),
		pendingEndpointsChanges: b.pending("sync_proxy_rules_endpoint_changes_pending",
			"Services whose endpoints have changes that no sync has taken up yet"),

		rules: ipt.gauge("sync_proxy_rules_iptables_total",
			"Rules that the proxy has in the table", tableLabel, familyLabel),
		rulesWritten: ipt.gauge("sync_proxy_rules_iptables_last",
			"Rules that the last sync has written to the table", tableLabel, familyLabel),
		restoreFailures: ipt.counterVec("sync_proxy_rules_iptables_restore_failures_total",
			"Runs of iptables-restore that failed", familyLabel),
		partialRestoreFailures: ipt.counterVec("sync_proxy_rules_iptables_partial_restore_failures_total",
			"Syncs of the changed rules that failed", familyLabel),
		transactionFailures: nft.counterVec("sync_proxy_rules_nftables_sync_failures_total",
			"Syncs whose rules nft did not take", familyLabel),
		cleanupFailures: nft.counterVec("sync_proxy_rules_nftables_cleanup_failures_total",
			"Deletions of chains out of use that nft did not take", familyLabel),
		noLocalEndpoints: b.gauge("sync_proxy_rules_no_local_endpoints_total",
			"Service ports with traffic policy Local that have endpoints, but none on this node", policyLabel, familyLabel),

		conntrackDuration: b.histogram("conntrack_reconciler_sync_duration_seconds",
			"How long it took to look for stale conntrack entries and to delete them", syncBuckets(), familyLabel),
		conntrackDeleted: b.counterVec("conntrack_reconciler_deleted_entries_total",
			"Stale conntrack entries deleted", familyLabel),

		healthz: b.counterVec("proxy_healthz_total", "Answers of /healthz by HTTP status", codeLabel),
		livez:   b.counterVec("proxy_livez_total", "Answers of /livez by HTTP status", codeLabel),
	}
	if err := errors.Join(slices.Concat(b.errs, ipt.errs, nft.errs)...); err != nil {
		return nil, fmt.Errorf("metrics of the proxy: %w", err)
	}
	return m, nil
}

// CountHealthz counts an answer of /healthz by its HTTP status.
func (m *Metrics) CountHealthz(code int) {
	m.healthz.WithLabelValues(strconv.Itoa(code)).Inc()
}

// CountLivez counts an answer of /livez by its HTTP status.
func (m *Metrics) CountLivez(code int) {
	m.livez.WithLabelValues(strconv.Itoa(code)).Inc()
}
