package proxier

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/internal/mark"
	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
)

// ErrNotDelivered is returned by Sync until both OnServiceSynced and
// OnEndpointSlicesSynced were called: rules made of a part of the API would
// cut off the other part.
var ErrNotDelivered = errors.New("the first Services and EndpointSlices were not delivered yet")

// Proxier writes the rules of one address family. All methods may be called
// from several goroutines.
type Proxier struct {
	config    Config
	policy    model.Config
	services  *changes.ServiceTracker
	endpoints *changes.EndpointsTracker
	writer    writer // apart from Monitor, syncing protects it

	state state

	// syncing is held during a sync. It protects what follows.
	syncing      sync.Mutex
	serviceMap   changes.Services
	endpointsMap changes.Endpoints
	udp          changedUDP
	// totals are of what the kernel holds since the last sync that ended well, and
	// lastFull is when the last full one did.
	totals   model.Totals
	lastFull time.Time

	// healthLock protects health, which can be read while a sync is under way.
	healthLock sync.Mutex
	health     map[types.NamespacedName]ServiceHealth
}

// ServiceHealth is what the health check of a Service with
// externalTrafficPolicy Local answers.
type ServiceHealth struct {
	// Port is the Service's healthCheckNodePort.
	Port uint16
	// LocalEndpoints counts the ready endpoints on this node.
	LocalEndpoints int
}

// New returns a Proxier that has written nothing yet.
func New(config Config) (*Proxier, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("proxier configuration: %w", err)
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.SyncPeriod == 0 {
		config.SyncPeriod = defaultSyncPeriod
	}
	config.silentWhereNil()
	return &Proxier{
		config:       config,
		policy:       config.modelConfig(),
		services:     changes.NewServiceTracker(config.Family, config.IgnoreExternalIPs, config.Logger, config.Marks),
		endpoints:    changes.NewEndpointsTracker(config.Family, config.NodeName, config.Clock.Now(), config.Logger, config.Marks),
		state:        newState(),
		serviceMap:   changes.Services{},
		endpointsMap: changes.Endpoints{},
		writer:       config.Rules.newWriter(&config),
		health:       map[types.NamespacedName]ServiceHealth{},
	}, nil
}

// Sync makes the rules what the API asks for. It writes what has changed since
// the last Sync, or everything: at first, after an error, after the node's zone
// has changed, after the tables were flushed, and once an hour, if
// Config.NoHourlyFullSync does not forbid that. After an error the rules may be the
// old ones, and nothing is lost: the next Sync includes what this one could not
// write.
//
// Conntrack entries that keep UDP clients away from serving endpoints are deleted
// after the rules were written, if Config.Conntrack is set; if that fails, the
// next Sync does it.
func (p *Proxier) Sync() error {
	stale, err := p.syncRules()
	if err != nil || stale == nil {
		return err
	}
	if err := p.cleanConntrack(stale); err != nil {
		return fmt.Errorf("after syncing %s rules: %w", p.config.Family, err)
	}
	return nil
}

// syncRules returns what conntrack entries to look at, nil for none.
func (p *Proxier) syncRules() (*staleConnections, error) {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	if !p.state.delivered() {
		p.config.Marks.Hit(mark.SyncNotDelivered)
		return nil, ErrNotDelivered
	}
	zone, full := p.state.beginSync()
	services := p.services.Apply(p.serviceMap)
	endpoints := p.endpoints.Apply(p.endpointsMap)
	p.config.Metrics.ChangesTaken()

	hourly := p.config.Clock.Since(p.lastFull) >= fullSyncPeriod && (!p.config.NoHourlyFullSync || p.totals.Endpoints <= largeCluster)
	p.config.Marks.HitIf(mark.SyncHourly, hourly && !full)
	full = full || hourly
	if err := p.write(full, zone, services, endpoints); err != nil {
		p.config.Marks.Hit(mark.SyncFailed)
		p.state.dirty()
		return nil, fmt.Errorf("syncing %s rules: %w", p.config.Family, err)
	}
	p.services.MarkSynced()
	p.endpoints.MarkSynced()
	p.noteHealth(services.UpdatedServices)
	p.noteHealth(endpoints.UpdatedServices)
	p.udp.add(services, endpoints)
	p.config.Metrics.Synced(p.config.Clock.Now(), endpoints.LastChangeTriggerTimes)
	p.config.Logger.V(2).Info("The rules are synced", "family", p.config.Family, "full", full)
	p.reportHealth()
	return p.takeChangedUDP(), nil
}

// write writes the rules, and notes how long that took.
func (p *Proxier) write(full bool, zone string, services changes.ServiceUpdate, endpoints changes.EndpointsUpdate) (err error) {
	start := p.config.Clock.Now()
	if full {
		p.config.Marks.Hit(mark.SyncFull)
		defer func() { p.config.Metrics.FullSyncTook(p.config.Clock.Since(start)) }()
		return p.writeAll(zone)
	}
	p.config.Marks.Hit(mark.SyncPartial)
	defer func() { p.config.Metrics.PartialSyncTook(p.config.Clock.Since(start)) }()
	return p.writeChanged(zone, services.UpdatedServices.Union(endpoints.UpdatedServices))
}

// SyncAll is a Sync that writes everything. It repairs what somebody else did to
// the tables.
func (p *Proxier) SyncAll() error {
	p.state.dirty()
	return p.Sync()
}

// Health returns the health check data of the last sync that did not fail, for
// each Service that has a health check port. It does not wait for a sync.
func (p *Proxier) Health() map[types.NamespacedName]ServiceHealth {
	p.healthLock.Lock()
	defer p.healthLock.Unlock()
	return maps.Clone(p.health)
}

// noteHealth reads the health of the Services that have changed.
func (p *Proxier) noteHealth(changed sets.Set[types.NamespacedName]) {
	p.healthLock.Lock()
	defer p.healthLock.Unlock()
	for service := range changed {
		port := p.services.HealthCheckNodePort(service)
		if port == 0 {
			_, had := p.health[service]
			p.config.Marks.HitIf(mark.SyncHealthCheckGone, had)
			delete(p.health, service)
			continue
		}
		p.config.Marks.Hit(mark.SyncHealthCheck)
		p.health[service] = ServiceHealth{Port: port, LocalEndpoints: p.endpoints.LocalReady(service)}
	}
}

// Monitor writes everything each time somebody else flushed the tables, until
// stop is closed. It looks for that once in every interval.
func (p *Proxier) Monitor(interval time.Duration, stop <-chan struct{}) {
	p.writer.Monitor(p.reload, interval, stop)
}

func (p *Proxier) reload() {
	if err := p.SyncAll(); err != nil && !errors.Is(err, ErrNotDelivered) {
		p.config.Logger.Error(err, "Rules are still missing after a flush of the tables")
		p.changed() // nobody looks for the rules, if the jumps to them are there by now
	}
}

// EnsureCanaries makes what one notices by that somebody else removed the rules,
// such as chains without use. If something that it made before is gone, or what
// leads to the rules, the next Sync writes everything. It is Monitor for those who
// sync by hand.
func (p *Proxier) EnsureCanaries() error {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	intact, err := p.writer.Intact()
	if !intact {
		p.state.dirty()
	}
	return err
}
