package changes

import (
	"reflect"
	"slices"
	"strings"
	"time"

	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/chainwalk/chainwalk/internal/mark"
)

// sliceCache holds EndpointSlices by Service and by their own name, both as last
// applied and as they wait. Slices have to be told apart, since an endpoint may
// move from one to another in two events.
//
// It keeps the objects that it is given and never modifies them.
type sliceCache struct {
	services map[types.NamespacedName]*serviceSlices
	// owners tells which Service a slice was last seen with. The label that
	// ties them can be edited, and the old Service must then lose the slice.
	owners map[types.NamespacedName]types.NamespacedName
	// changed names the Services with pending slices.
	changed sets.Set[types.NamespacedName]
	marks   *mark.Recorder // of the decisions; may be nil
}

// serviceSlices holds the slices of one Service.
type serviceSlices struct {
	applied namedSlices
	// pending holds nil for a slice that goes away. A slice that is as applied
	// is not in it.
	pending namedSlices
	// built is what the applied slices were turned into.
	built builtEndpoints
	// triggerTimes says what set off the pending changes.
	triggerTimes []time.Time
}

// namedSlices are slices by name, sorted. Most Services have one: a map would be many times as large.
type namedSlices []namedSlice

type namedSlice struct {
	name  string
	slice *discovery.EndpointSlice
}

func (n namedSlices) place(name string) (int, bool) {
	return slices.BinarySearchFunc(n, name, func(s namedSlice, name string) int { return strings.Compare(s.name, name) })
}

// get returns the slice of a name, and whether there is one.
func (n namedSlices) get(name string) (*discovery.EndpointSlice, bool) {
	if place, found := n.place(name); found {
		return n[place].slice, true
	}
	return nil, false
}

func (n *namedSlices) put(name string, slice *discovery.EndpointSlice) {
	place, found := n.place(name)
	if !found {
		*n = slices.Insert(*n, place, namedSlice{name: name})
	}
	(*n)[place].slice = slice
}

func (n *namedSlices) remove(name string) {
	if place, found := n.place(name); found {
		*n = slices.Delete(*n, place, place+1)
	}
}

func newSliceCache(marks *mark.Recorder) *sliceCache {
	return &sliceCache{
		services: map[types.NamespacedName]*serviceSlices{},
		owners:   map[types.NamespacedName]types.NamespacedName{},
		changed:  sets.New[types.NamespacedName](),
		marks:    marks,
	}
}

// put makes slice pending for service.
func (c *sliceCache) put(service types.NamespacedName, slice *discovery.EndpointSlice, trigger time.Time) {
	name := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
	if owner, ok := c.owners[name]; ok && owner != service {
		c.marks.Hit(mark.ChangesSliceMoved)
		c.remove(name)
	}
	c.owners[name] = service
	held := c.services[service]
	if held == nil {
		held = &serviceSlices{}
		c.services[service] = held
	}
	if !c.set(held, slice.Name, slice) {
		return
	}
	if !trigger.IsZero() {
		held.triggerTimes = append(held.triggerTimes, trigger)
	}
	c.settle(service, held)
}

// remove makes the removal of the named slice pending, if the slice is there.
func (c *sliceCache) remove(name types.NamespacedName) {
	owner, ok := c.owners[name]
	if !ok {
		return
	}
	c.marks.Hit(mark.ChangesSliceRemoved)
	delete(c.owners, name)
	held := c.services[owner]
	c.set(held, name.Name, nil)
	// The trigger time of a deleted slice is that of its last update, so it
	// says nothing about how long the deletion took.
	held.triggerTimes = nil
	c.settle(owner, held)
}

// settle puts the Service on or off the list of those that wait for Apply.
func (c *sliceCache) settle(service types.NamespacedName, held *serviceSlices) {
	if len(held.pending) > 0 {
		c.changed.Insert(service)
		return
	}
	c.changed.Delete(service)
	held.triggerTimes = nil
	if len(held.applied) == 0 {
		delete(c.services, service)
	}
}

// takeChanged returns the Services with pending slices and empties the list. A
// map that was once large stays slow to clear and to range over, so a new one is
// made.
func (c *sliceCache) takeChanged() sets.Set[types.NamespacedName] {
	changed := c.changed
	c.changed = sets.New[types.NamespacedName]()
	return changed
}

// set makes slice (nil for none) the pending state, or drops the pending state
// if that is as applied. It reports whether the latest state differs now.
func (c *sliceCache) set(s *serviceSlices, name string, slice *discovery.EndpointSlice) bool {
	applied, _ := s.applied.get(name)
	latest, waits := s.pending.get(name)
	if !waits {
		latest = applied
	}
	if sameContent(latest, slice) {
		c.marks.Hit(mark.ChangesSliceSame)
		return false
	}
	if sameContent(applied, slice) {
		c.marks.Hit(mark.ChangesSliceAsApplied)
		s.pending.remove(name)
	} else {
		s.pending.put(name, slice)
	}
	return true
}

// advance makes the pending slices the applied ones.
func (s *serviceSlices) advance() {
	if len(s.applied) == 0 && !slices.ContainsFunc(s.pending, func(n namedSlice) bool { return n.slice == nil }) {
		s.applied, s.pending = s.pending, nil
		return
	}
	for _, next := range s.pending {
		if next.slice == nil {
			s.applied.remove(next.name)
		} else {
			s.applied.put(next.name, next.slice)
		}
	}
	s.pending = nil
}

// sameContent compares what endpoints are built from and leaves out metadata.
func sameContent(a, b *discovery.EndpointSlice) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || reflect.DeepEqual(a.Ports, b.Ports) && reflect.DeepEqual(a.Endpoints, b.Endpoints)
}
