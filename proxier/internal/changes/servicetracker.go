package changes

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// ServiceTracker follows the Services of one address family.
type ServiceTracker struct {
	reader serviceReader

	lock sync.Mutex
	// applied holds what the last Apply left in the map, by Service. A Service
	// for which the family has nothing to do is not in it.
	applied map[types.NamespacedName][]*ServicePort
	// pending holds what the next Apply will merge; an empty list is a removal.
	// A Service that is as applied is not in it.
	pending map[types.NamespacedName][]*ServicePort
	// unsynced is what Apply has merged since the last MarkSynced.
	unsynced ServiceUpdate
	// udp holds the applied ports of that protocol.
	udp Services
	// healthCheckNodePorts follows applied.
	healthCheckNodePorts map[types.NamespacedName]uint16
}

// ServiceUpdate says what Apply has merged since the last MarkSynced.
type ServiceUpdate struct {
	// UpdatedServices names the Services that were added, changed or removed.
	UpdatedServices sets.Set[types.NamespacedName]
	// UDPChanged is true if a UDP port of a Service was added, changed or
	// removed: kernel flow entries may still lead to the old place.
	UDPChanged bool
	// FormerUDP are the UDP ports that were changed or removed, as they were
	// before.
	FormerUDP []*ServicePort
}

// NewServiceTracker returns a tracker that knows of no Service. The logger is told
// what of a Service cannot be used; marks, which may be nil, counts the decisions.
func NewServiceTracker(family v1.IPFamily, ignoreExternalIPs bool, logger klog.Logger, marks *mark.Recorder) *ServiceTracker {
	return &ServiceTracker{
		reader:               serviceReader{family: family, ignoreExternalIPs: ignoreExternalIPs, logger: logger, marks: marks},
		applied:              map[types.NamespacedName][]*ServicePort{},
		pending:              map[types.NamespacedName][]*ServicePort{},
		unsynced:             ServiceUpdate{UpdatedServices: sets.New[types.NamespacedName]()},
		udp:                  Services{},
		healthCheckNodePorts: map[types.NamespacedName]uint16{},
	}
}

// Update notes that a Service was added (previous is nil), changed, or removed
// (current is nil). It reports whether anything waits for Apply, be it from this
// update or from an earlier one. Neither object is kept or modified.
func (t *ServiceTracker) Update(previous, current *v1.Service) bool {
	service := current
	if service == nil {
		service = previous
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if service != nil {
		name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
		ports := t.reader.read(current)
		if equalPorts(ports, t.applied[name]) {
			_, waited := t.pending[name]
			t.reader.marks.HitIf(mark.ChangesServiceAsApplied, waited)
			delete(t.pending, name)
		} else {
			t.pending[name] = ports
		}
	}
	return len(t.pending) > 0
}

// Pending returns the number of Services that wait for Apply.
func (t *ServiceTracker) Pending() int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return len(t.pending)
}

// Apply merges all pending changes into services, which must be the same map
// each time, and returns everything merged since the last MarkSynced. Nobody may
// modify it, and it holds until the next Apply.
func (t *ServiceTracker) Apply(services Services) ServiceUpdate {
	t.lock.Lock()
	defer t.lock.Unlock()
	for name, ports := range t.pending {
		t.apply(services, name, ports)
	}
	// A map that was once large stays slow to clear and to range over.
	t.pending = map[types.NamespacedName][]*ServicePort{}
	return t.unsynced
}

// apply replaces one Service. Ports that stay as they were keep their pointer.
func (t *ServiceTracker) apply(services Services, name types.NamespacedName, ports []*ServicePort) {
	for _, old := range t.applied[name] {
		if !slices.ContainsFunc(ports, old.equal) {
			t.reader.marks.Hit(mark.ChangesServiceRemoved)
			delete(services, old.Name)
			t.noteProtocol(old.Name.Protocol)
			if old.Name.Protocol == v1.ProtocolUDP {
				delete(t.udp, old.Name)
				t.reader.marks.Hit(mark.ChangesFormerUDP)
				t.unsynced.FormerUDP = append(t.unsynced.FormerUDP, old)
			}
		}
	}
	for i, port := range ports {
		if old, ok := services[port.Name]; ok {
			t.reader.marks.Hit(mark.ChangesServicePortStays)
			ports[i] = old
			continue
		}
		t.reader.marks.Hit(mark.ChangesServiceAdded)
		services[port.Name] = port
		t.noteProtocol(port.Name.Protocol)
		if port.Name.Protocol == v1.ProtocolUDP {
			t.udp[port.Name] = port
		}
	}
	t.unsynced.UpdatedServices.Insert(name)
	delete(t.applied, name)
	delete(t.healthCheckNodePorts, name)
	if len(ports) == 0 {
		return
	}
	t.applied[name] = ports
	if port := ports[0].HealthCheckNodePort; port != 0 {
		t.healthCheckNodePorts[name] = port
	}
}

func (t *ServiceTracker) noteProtocol(protocol v1.Protocol) {
	if protocol == v1.ProtocolUDP {
		t.unsynced.UDPChanged = true
	}
}

// MarkSynced says that the rules now hold everything that Apply has returned.
// It must not be called after a failed sync.
func (t *ServiceTracker) MarkSynced() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.unsynced = ServiceUpdate{UpdatedServices: sets.New[types.NamespacedName]()}
}

// HealthCheckNodePort returns the health check port of an applied Service, 0
// where it has none.
func (t *ServiceTracker) HealthCheckNodePort(service types.NamespacedName) uint16 {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.healthCheckNodePorts[service]
}

// Ports returns the ports of an applied Service, sorted by name. Nobody may
// modify the list.
func (t *ServiceTracker) Ports(service types.NamespacedName) []*ServicePort {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.applied[service]
}

// UDP returns the applied service ports of that protocol. Nobody may modify the
// map, and it holds until the next Apply.
func (t *ServiceTracker) UDP() Services {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.udp
}

func equalPorts(a, b []*ServicePort) bool {
	return slices.EqualFunc(a, b, (*ServicePort).equal)
}
