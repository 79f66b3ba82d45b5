package metrics

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Family is what the proxier of one family reports to. Its methods may be
// called from several goroutines. Times are given by the caller, who owns the
// clock.
type Family struct {
	metrics *Metrics
	family  v1.IPFamily
}

// ForFamily returns the part of the metrics that has the family as its label.
func (m *Metrics) ForFamily(family v1.IPFamily) Family {
	return Family{metrics: m, family: family}
}

func (f Family) label() string { return string(f.family) }

// Queued notes that a sync was asked for.
func (f Family) Queued(at time.Time) {
	f.metrics.lastQueued.WithLabelValues(f.label()).Set(unixSeconds(at))
}

// ServiceEvent counts an event of a Service. Pending is the number of
// Services that wait for a sync after it.
func (f Family) ServiceEvent(pending int) {
	f.metrics.serviceChanges.Inc()
	f.metrics.pendingServiceChanges.set(f.family, pending)
}

// EndpointSliceEvent counts an event of an EndpointSlice. Pending is the
// number of Services whose endpoints wait for a sync after it.
func (f Family) EndpointSliceEvent(pending int) {
	f.metrics.endpointChanges.Inc()
	f.metrics.pendingEndpointsChanges.set(f.family, pending)
}

// ChangesTaken notes that a sync has taken up all that was pending.
func (f Family) ChangesTaken() {
	f.metrics.pendingServiceChanges.set(f.family, 0)
	f.metrics.pendingEndpointsChanges.set(f.family, 0)
}

// FullSyncTook notes how long a sync of all rules took, failed or not.
func (f Family) FullSyncTook(duration time.Duration) {
	f.metrics.syncDuration.WithLabelValues(f.label()).Observe(duration.Seconds())
	f.metrics.fullSyncDuration.WithLabelValues(f.label()).Observe(duration.Seconds())
}

// PartialSyncTook notes how long a sync of the changed rules took, failed or
// not.
func (f Family) PartialSyncTook(duration time.Duration) {
	f.metrics.syncDuration.WithLabelValues(f.label()).Observe(duration.Seconds())
	f.metrics.partialSyncDuration.WithLabelValues(f.label()).Observe(duration.Seconds())
}

// Synced notes that the rules were written. TriggerTimes say for each Service
// when the changes were set off that the rules follow now.
func (f Family) Synced(at time.Time, triggerTimes map[types.NamespacedName][]time.Time) {
	f.metrics.lastSynced.WithLabelValues(f.label()).Set(unixSeconds(at))
	programming := f.metrics.programmingDuration.WithLabelValues(f.label())
	for _, times := range triggerTimes {
		for _, trigger := range times {
			programming.Observe(at.Sub(trigger).Seconds())
		}
	}
}

// RestoreFailed counts a failure of iptables-restore.
func (f Family) RestoreFailed() {
	f.metrics.restoreFailures.WithLabelValues(f.label()).Inc()
}

// PartialSyncFailed counts a failed sync of the changed rules. If it was
// iptables-restore that failed, RestoreFailed is due too.
func (f Family) PartialSyncFailed() {
	f.metrics.partialRestoreFailures.WithLabelValues(f.label()).Inc()
}

// TransactionFailed counts a failure of nft to take the rules.
func (f Family) TransactionFailed() {
	f.metrics.transactionFailures.WithLabelValues(f.label()).Inc()
}

// CleanupFailed counts a failure of nft to delete chains that are out of use.
func (f Family) CleanupFailed() {
	f.metrics.cleanupFailures.WithLabelValues(f.label()).Inc()
}

// SetRules says how many rules of the table are the proxy's, and how many of
// them the last sync has written. The table is "filter" or "nat".
func (f Family) SetRules(table string, total, written int) {
	f.metrics.rules.WithLabelValues(table, f.label()).Set(float64(total))
	f.metrics.rulesWritten.WithLabelValues(table, f.label()).Set(float64(written))
}

// SetNoLocalEndpoints says how many Service ports with endpoints have none on
// this node though their internal, or external, traffic policy is Local.
func (f Family) SetNoLocalEndpoints(internal, external int) {
	f.metrics.noLocalEndpoints.WithLabelValues("internal", f.label()).Set(float64(internal))
	f.metrics.noLocalEndpoints.WithLabelValues("external", f.label()).Set(float64(external))
}

// ConntrackCleaned notes a search for stale conntrack entries: how long it
// took, and how many were deleted, also if it ended with an error.
func (f Family) ConntrackCleaned(duration time.Duration, deleted int) {
	f.metrics.conntrackDuration.WithLabelValues(f.label()).Observe(duration.Seconds())
	f.metrics.conntrackDeleted.WithLabelValues(f.label()).Add(float64(deleted))
}

func unixSeconds(at time.Time) float64 {
	return float64(at.UnixNano()) / 1e9
}
