package proxier

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Metrics is told by the Proxier of one family what it does. Package
// proxier/metrics has one.
type Metrics interface {
	// Queued notes that there is a reason to sync.
	Queued(at time.Time)
	// ServiceEvent and EndpointSliceEvent count an event after which so many
	// Services wait for a sync.
	ServiceEvent(pending int)
	EndpointSliceEvent(pending int)
	// ChangesTaken notes that nothing waits any longer: a sync is at it.
	ChangesTaken()
	// FullSyncTook and PartialSyncTook note how long a sync took, failed or not.
	FullSyncTook(duration time.Duration)
	PartialSyncTook(duration time.Duration)
	// Synced notes that the rules follow the changes that were set off then.
	Synced(at time.Time, triggerTimes map[types.NamespacedName][]time.Time)
	// RestoreFailed and PartialSyncFailed count failures in mode iptables.
	RestoreFailed()
	PartialSyncFailed()
	// TransactionFailed and CleanupFailed count failures in mode nftables: of a sync, and of the deletion of chains that are out of use.
	TransactionFailed()
	CleanupFailed()
	// SetRules says how many rules the Proxier has in the table, and how many of
	// them the last sync has written.
	SetRules(table string, total, written int)
	// SetNoLocalEndpoints says how many service ports with endpoints have none on
	// this node though the policy for internal, or external, traffic is Local.
	SetNoLocalEndpoints(internal, external int)
	// ConntrackCleaned notes how long a search for stale entries took and how many
	// it deleted.
	ConntrackCleaned(duration time.Duration, deleted int)
}

// Health is told whether the rules follow the API, for the health checks of the
// node. Package proxier/healthcheck has one.
type Health interface {
	// QueuedUpdate notes that there is a reason to sync, Updated that the family's
	// rules follow all changes.
	QueuedUpdate(family v1.IPFamily)
	Updated(family v1.IPFamily)
}

// ServiceHealthChecks answers for the Services that have a health check port.
// Package proxier/healthcheck has one.
type ServiceHealthChecks interface {
	// SyncServices is given the port of each such Service at every sync, and may
	// not keep the map. An error is logged.
	SyncServices(ports map[types.NamespacedName]uint16) error
	// SyncEndpoints is given the number of their ready endpoints on this node.
	SyncEndpoints(counts map[types.NamespacedName]int)
}

// silent is the Metrics and Health of those who ask for none.
type silent struct{}

func (silent) Queued(time.Time)                                       {}
func (silent) ServiceEvent(int)                                       {}
func (silent) EndpointSliceEvent(int)                                 {}
func (silent) ChangesTaken()                                          {}
func (silent) FullSyncTook(time.Duration)                             {}
func (silent) PartialSyncTook(time.Duration)                          {}
func (silent) Synced(time.Time, map[types.NamespacedName][]time.Time) {}
func (silent) RestoreFailed()                                         {}
func (silent) PartialSyncFailed()                                     {}
func (silent) TransactionFailed()                                     {}
func (silent) CleanupFailed()                                         {}
func (silent) SetRules(string, int, int)                              {}
func (silent) SetNoLocalEndpoints(int, int)                           {}
func (silent) ConntrackCleaned(time.Duration, int)                    {}
func (silent) QueuedUpdate(v1.IPFamily)                               {}
func (silent) Updated(v1.IPFamily)                                    {}
func (silent) SyncServices(map[types.NamespacedName]uint16) error     { return nil }
func (silent) SyncEndpoints(map[types.NamespacedName]int)             {}

// silentWhereNil fills in what may be left out.
func (c *Config) silentWhereNil() {
	if c.Metrics == nil {
		c.Metrics = silent{}
	}
	if c.Health == nil {
		c.Health = silent{}
	}
	if c.ServiceHealth == nil {
		c.ServiceHealth = silent{}
	}
}

// reportHealth tells the health checks what the last sync has found. What cannot
// be served is tried again by the next sync, and by whoever owns the health checks.
func (p *Proxier) reportHealth() {
	ports := make(map[types.NamespacedName]uint16, len(p.health))
	counts := make(map[types.NamespacedName]int, len(p.health))
	for service, health := range p.health {
		ports[service], counts[service] = health.Port, health.LocalEndpoints
	}
	if err := p.config.ServiceHealth.SyncServices(ports); err != nil {
		p.config.Logger.Error(err, "Some health checks of Services are not served")
	}
	p.config.ServiceHealth.SyncEndpoints(counts)
	p.config.Health.Updated(p.config.Family)
}
