package healthcheck

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// ErrClosed is returned by SyncServices after Close.
var ErrClosed = errors.New("the health checks of Services were closed")

// EventRecorder records that something has come of an action on an object, and why. client-go's events.EventRecorder does.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// ServiceOptions is what a ServiceServer is told.
type ServiceOptions struct {
	// Family is the family of the addresses to listen at. Required.
	Family v1.IPFamily
	// NodeName is for events. Required.
	NodeName string
	// Addresses returns the addresses to listen at: those of the node that
	// serve node ports. Those of the other family are ignored. It is asked at
	// each sync, for addresses come and go. Nil means every address.
	Addresses func() ([]netip.Addr, error)
	// Proxy knows whether the rules of this node are up to date. Required.
	Proxy interface{ Healthy() bool }
	// Recorder gets an event for a health check that cannot be served. May be
	// nil.
	Recorder EventRecorder
	// Logger gets what is no error of SyncServices. The zero value is silent.
	Logger klog.Logger
}

// ServiceServer serves the health check ports of Services. Its methods may be
// called from several goroutines.
type ServiceServer struct {
	options ServiceOptions

	lock     sync.Mutex
	services map[types.NamespacedName]*serviceCheck
	// addresses are the last known addresses.
	addresses []netip.Addr
	// unserved are the ports of the last sync if some could not be bound.
	unserved map[types.NamespacedName]uint16
	closed   bool
}

// NewServiceServer returns a server that listens nowhere yet.
func NewServiceServer(options ServiceOptions) *ServiceServer {
	s := &ServiceServer{options: options, services: map[types.NamespacedName]*serviceCheck{}}
	s.addresses = []netip.Addr{netip.IPv4Unspecified()}
	if options.Family == v1.IPv6Protocol {
		s.addresses = []netip.Addr{netip.IPv6Unspecified()}
	}
	return s
}

// SyncServices makes these Services the ones that have a health check, each at
// its port, at every address. Those that are there already are left alone.
//
// Where a port cannot be bound, the error says so, and an event of the Service
// does once for each cause. Nothing else is held up by it; Retry and the next
// sync try again.
func (s *ServiceServer) SyncServices(ports map[types.NamespacedName]uint16) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return ErrClosed
	}
	err := s.serve(ports)
	s.unserved = nil
	if err != nil {
		s.unserved = maps.Clone(ports)
	}
	return err
}

// Retry tries again where the last sync could not bind a port. It is to be
// called every few seconds: a sync may be far off, and a load balancer takes
// silence for a node without endpoints. It costs nothing if all is served. Each
// new cause of a failure is told by an event, and the success is logged.
func (s *ServiceServer) Retry() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.unserved == nil || s.closed {
		return
	}
	if err := s.serve(s.unserved); err == nil {
		s.unserved = nil
		s.options.Logger.Info("All health checks of Services are served now")
	}
}

// serve must be called with the lock held.
func (s *ServiceServer) serve(ports map[types.NamespacedName]uint16) error {
	if len(ports) > 0 {
		s.lookUpAddresses()
	}
	// All that goes is closed before anything is opened: a port may pass from
	// one Service to another.
	for name, check := range s.services {
		check.closeElsewhere(ports[name], s.addresses)
		if ports[name] == 0 {
			delete(s.services, name)
		}
	}
	var errs []error
	for _, name := range s.incomplete(ports) {
		errs = append(errs, s.open(name, ports[name])...)
	}
	return errors.Join(errs...)
}

// incomplete returns, sorted, the Services whose health check does not listen
// everywhere yet: few or none in most syncs.
func (s *ServiceServer) incomplete(ports map[types.NamespacedName]uint16) []types.NamespacedName {
	var names []types.NamespacedName
	for name := range ports {
		if check := s.services[name]; check == nil || !check.listensAt(len(s.addresses)) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return names
}

// SyncEndpoints sets the number of ready endpoints on this node for each
// Service with a health check. One that is not in the map has none; others in
// the map are ignored.
func (s *ServiceServer) SyncEndpoints(counts map[types.NamespacedName]int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for name, check := range s.services {
		check.endpoints.Store(int64(counts[name]))
	}
}

// Close stops all health checks for good.
func (s *ServiceServer) Close() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.closed = true
	for name, check := range s.services {
		check.closeElsewhere(0, nil)
		delete(s.services, name)
	}
}

// lookUpAddresses keeps the addresses as they were if they are not known now:
// every address if they never were, since a load balancer would take silence
// for a node without endpoints.
func (s *ServiceServer) lookUpAddresses() {
	if s.options.Addresses == nil {
		return
	}
	addresses, err := s.options.Addresses()
	if err != nil {
		s.options.Logger.Error(err, "Health checks of Services stay at the addresses they have", "addresses", s.addresses)
		return
	}
	s.addresses = nil
	for _, address := range addresses {
		if address = address.Unmap(); address.Is6() == (s.options.Family == v1.IPv6Protocol) {
			s.addresses = append(s.addresses, address)
		}
	}
	slices.SortFunc(s.addresses, netip.Addr.Compare)
	s.addresses = slices.Compact(s.addresses)
}

// open listens wherever the Service's health check does not yet.
func (s *ServiceServer) open(name types.NamespacedName, port uint16) []error {
	if port == 0 {
		return []error{fmt.Errorf("health check of Service %s: port is 0: must be 1 to 65535", name)}
	}
	check := s.services[name]
	if check == nil {
		check = newServiceCheck(name, s.options.Proxy)
		s.services[name] = check
	}
	var errs []error
	for _, address := range s.addresses {
		isNews, err := check.open(s.network(), netip.AddrPortFrom(address, port))
		if err == nil {
			continue
		}
		errs = append(errs, fmt.Errorf("health check of Service %s, which will be tried again: %w", name, err))
		if isNews {
			s.recordFailure(name, err)
		}
	}
	return errs
}

// network keeps the two families apart: their servers listen at the same port.
func (s *ServiceServer) network() string {
	if s.options.Family == v1.IPv6Protocol {
		return "tcp6"
	}
	return "tcp4"
}

func (s *ServiceServer) recordFailure(name types.NamespacedName, err error) {
	if s.options.Recorder == nil {
		return
	}
	service := &v1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: name.Namespace, Name: name.Name}
	s.options.Recorder.Eventf(service, nil, v1.EventTypeWarning, "FailedToStartServiceHealthcheck", "Listen",
		"Node %s cannot serve the health check: %v", s.options.NodeName, err)
}
