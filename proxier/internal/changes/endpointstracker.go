package changes

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// EndpointsTracker follows the EndpointSlices of one address family.
type EndpointsTracker struct {
	addressType discovery.AddressType
	reader      sliceReader
	started     time.Time

	lock  sync.Mutex
	cache *sliceCache
	// unsynced is what Apply has merged since the last MarkSynced.
	unsynced EndpointsUpdate
	// localReady follows what was applied; a Service without local ready
	// endpoints is not in it.
	localReady map[types.NamespacedName]int
}

// EndpointsUpdate says what Apply has merged since the last MarkSynced.
type EndpointsUpdate struct {
	// UpdatedServices names the Services whose endpoints were added, changed
	// or removed.
	UpdatedServices sets.Set[types.NamespacedName]
	// UDPChanged is true if the endpoints of a UDP port changed:
	// kernel flow entries may still lead to endpoints that are gone.
	UDPChanged bool
	// LastChangeTriggerTimes holds, for the updated Services, when the changes
	// were set off, as far as the slices tell. The time from there to the end
	// of the sync is the network programming latency.
	LastChangeTriggerTimes map[types.NamespacedName][]time.Time
}

// NewEndpointsTracker returns a tracker that knows of no slice. Endpoints on
// nodeName are local; with an empty name none is. Trigger times that are not
// after started are not reported, for they say nothing about this process. The
// logger is told what of a slice cannot be used; marks, which may be nil, counts the
// decisions.
func NewEndpointsTracker(
	family v1.IPFamily, nodeName string, started time.Time, logger klog.Logger, marks *mark.Recorder,
) *EndpointsTracker {
	addressType := discovery.AddressTypeIPv4
	if family == v1.IPv6Protocol {
		addressType = discovery.AddressTypeIPv6
	}
	return &EndpointsTracker{
		addressType: addressType,
		reader:      sliceReader{family: family, nodeName: nodeName, logger: logger, marks: marks},
		started:     started,
		cache:       newSliceCache(marks),
		unsynced:    newEndpointsUpdate(),
		localReady:  map[types.NamespacedName]int{},
	}
}

func newEndpointsUpdate() EndpointsUpdate {
	return EndpointsUpdate{
		UpdatedServices:        sets.New[types.NamespacedName](),
		LastChangeTriggerTimes: map[types.NamespacedName][]time.Time{},
	}
}

// EndpointSliceUpdate notes that a slice was added, changed or, with remove,
// deleted. It reports whether anything waits for Apply, be it from this update
// or from an earlier one. The slice is kept and must not be modified afterwards.
func (t *EndpointsTracker) EndpointSliceUpdate(slice *discovery.EndpointSlice, remove bool) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	if slice != nil {
		name := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discovery.LabelServiceName]}
		// A slice without a Service, or of a type that is not the family's,
		// counts for nothing, also when it used to count.
		if remove || service.Name == "" || slice.AddressType != t.addressType {
			t.reader.marks.HitIf(mark.ChangesSliceIgnored, !remove)
			t.cache.remove(name)
		} else {
			t.cache.put(service, slice, t.triggerTime(slice))
		}
	}
	return len(t.cache.changed) > 0
}

// triggerTime returns the zero time where the slice has none that counts.
func (t *EndpointsTracker) triggerTime(slice *discovery.EndpointSlice) time.Time {
	text, ok := slice.Annotations[v1.EndpointsLastChangeTriggerTime]
	if !ok {
		return time.Time{}
	}
	trigger, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.reader.logger.Error(err, "Ignoring trigger time", "endpointSlice", klog.KObj(slice))
		return time.Time{}
	}
	if !trigger.After(t.started) {
		return time.Time{}
	}
	return trigger
}

// Pending returns the number of Services whose slices wait for Apply.
func (t *EndpointsTracker) Pending() int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return len(t.cache.changed)
}

// Apply merges all pending changes into endpoints, which must be the same map
// each time, and returns everything merged since the last MarkSynced. Slices
// that changed without a change of endpoints are not reported. Nobody may modify
// the result, and it holds until the next Apply.
func (t *EndpointsTracker) Apply(endpoints Endpoints) EndpointsUpdate {
	t.lock.Lock()
	defer t.lock.Unlock()
	for service := range t.cache.takeChanged() {
		t.apply(endpoints, service)
	}
	return t.unsynced
}

// apply replaces the endpoints of one Service.
func (t *EndpointsTracker) apply(endpoints Endpoints, service types.NamespacedName) {
	held := t.cache.services[service]
	held.advance()
	built := t.reader.read(service, held.applied)
	if t.replace(endpoints, held.built, built) {
		t.unsynced.UpdatedServices.Insert(service)
		if len(held.triggerTimes) > 0 {
			times := t.unsynced.LastChangeTriggerTimes
			times[service] = slices.Concat(times[service], held.triggerTimes)
		}
	}
	held.built = built
	t.countLocalReady(service, built)
	t.cache.settle(service, held)
}

// replace puts current in the place of previous and reports whether they differ.
// Lists that stay as they were are left alone.
func (t *EndpointsTracker) replace(endpoints Endpoints, previous, current builtEndpoints) bool {
	changed := false
	for i := range previous {
		if port := previous[i].port; current.of(port) < 0 {
			t.reader.marks.Hit(mark.ChangesEndpointsGone)
			delete(endpoints, port)
			changed = true
			t.noteProtocol(port.Protocol)
		}
	}
	for i := range current {
		port := &current[i]
		if place := previous.of(port.port); place >= 0 && slices.EqualFunc(port.list, previous[place].list, Endpoint.equal) {
			t.reader.marks.Hit(mark.ChangesEndpointsStay)
			port.list = previous[place].list
			continue
		}
		endpoints[port.port] = port.list
		changed = true
		t.noteProtocol(port.port.Protocol)
	}
	return changed
}

func (t *EndpointsTracker) noteProtocol(protocol v1.Protocol) {
	if protocol == v1.ProtocolUDP {
		t.reader.marks.Hit(mark.ChangesUDPEndpoints)
		t.unsynced.UDPChanged = true
	}
}

// countLocalReady counts addresses: a pod that serves two ports counts once.
// Terminating endpoints are not ready, so that a load balancer turns away from a
// node whose last endpoints are going, though these may still serve.
func (t *EndpointsTracker) countLocalReady(service types.NamespacedName, built builtEndpoints) {
	var local sets.Set[netip.Addr]
	for i := range built {
		for j := range built[i].list {
			if e := &built[i].list[j]; e.Local && e.Ready {
				if local == nil {
					local = sets.New[netip.Addr]()
				}
				local.Insert(e.IP)
			}
		}
	}
	if len(local) == 0 {
		delete(t.localReady, service)
		return
	}
	t.localReady[service] = len(local)
}

// MarkSynced says that the rules now hold everything that Apply has returned.
// It must not be called after a failed sync.
func (t *EndpointsTracker) MarkSynced() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.unsynced = newEndpointsUpdate()
}

// LocalReady returns the number of local ready endpoints of an applied Service.
func (t *EndpointsTracker) LocalReady(service types.NamespacedName) int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.localReady[service]
}
