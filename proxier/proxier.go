package proxier

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
	"github.com/chainwalk/chainwalk/proxier/internal/model"
	"github.com/chainwalk/chainwalk/proxier/internal/render"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// ErrNotDelivered is returned by Sync until both OnServiceSynced and
// OnEndpointSlicesSynced were called: rules made of a part of the API would
// cut off the other part.
var ErrNotDelivered = errors.New("the first Services and EndpointSlices were not delivered yet")

// Proxier writes the rules of one address family. All methods may be called
// from several goroutines.
type Proxier struct {
	config    Config
	rules     model.Config
	services  *changes.ServiceTracker
	endpoints *changes.EndpointsTracker

	state state

	// syncing is held during a sync. It protects what follows.
	syncing      sync.Mutex
	serviceMap   changes.Services
	endpointsMap changes.Endpoints
	renderer     *render.Renderer
	saved        bytes.Buffer
	health       map[types.NamespacedName]ServiceHealth
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
	return &Proxier{
		config:       config,
		rules:        config.modelConfig(),
		services:     changes.NewServiceTracker(config.Family),
		endpoints:    changes.NewEndpointsTracker(config.Family, config.NodeName, config.Clock.Now()),
		state:        newState(),
		serviceMap:   changes.Services{},
		endpointsMap: changes.Endpoints{},
		renderer: render.New(render.Options{
			MasqueradeMark: 1 << config.MasqueradeBit,
			RandomFully:    config.IPTables.HasRandomFully(),
		}),
	}, nil
}

// Sync makes the rules what the API asks for, all of them. After an error the
// rules may be the old ones, and nothing is lost: the next Sync includes what
// this one could not write.
func (p *Proxier) Sync() error {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	if !p.state.delivered() {
		return ErrNotDelivered
	}
	zone := p.state.beginSync()
	p.services.Apply(p.serviceMap)
	p.endpoints.Apply(p.endpointsMap)
	if err := p.writeRules(zone); err != nil {
		p.state.dirty()
		return fmt.Errorf("syncing %s rules: %w", p.config.Family, err)
	}
	p.services.MarkSynced()
	p.endpoints.MarkSynced()
	p.health = p.readHealth()
	return nil
}

// NeedsSync says whether Sync would have a reason: it was never called, the
// last one failed, or something has changed since.
func (p *Proxier) NeedsSync() bool {
	return p.state.needsSync() || p.services.Pending() > 0 || p.endpoints.Pending() > 0
}

// Health returns the health check data of the last sync that did not fail, for
// each Service that has a health check port.
func (p *Proxier) Health() map[types.NamespacedName]ServiceHealth {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	return maps.Clone(p.health)
}

func (p *Proxier) readHealth() map[types.NamespacedName]ServiceHealth {
	ready := p.endpoints.LocalReadyEndpoints()
	health := map[types.NamespacedName]ServiceHealth{}
	for name, port := range p.services.HealthCheckNodePorts() {
		health[name] = ServiceHealth{Port: port, LocalEndpoints: ready[name]}
	}
	return health
}

// Monitor syncs each time somebody else flushed the tables, until stop is
// closed. It looks for that once in every interval.
func (p *Proxier) Monitor(interval time.Duration, stop <-chan struct{}) {
	p.config.IPTables.Monitor(render.CanaryChain, monitored(), p.reload, interval, stop)
}

func (p *Proxier) reload() {
	p.state.dirty()
	if err := p.Sync(); err != nil {
		p.config.Logger.Error(err, "Rules are still missing after a flush of the tables")
	}
}

// EnsureCanaries makes the chains by which Monitor notices that somebody else flushed the tables, as Monitor does first of all.
// It is for those who sync once and do not monitor.
func (p *Proxier) EnsureCanaries() error {
	for _, table := range monitored() {
		if _, err := p.config.IPTables.EnsureChain(table, render.CanaryChain); err != nil {
			return err
		}
	}
	return nil
}

func monitored() []iptables.Table {
	return []iptables.Table{iptables.TableMangle, iptables.TableNAT, iptables.TableFilter}
}
