package api

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios"
)

// Queue stands between the API and the proxier of one node, and can hold back what the
// proxier would be told. Of nodes it tells of the proxier's own alone, as a proxier that watches
// one node hears it, and of services and slices of those that its watches select. It implements
// config.Handler, and is safe for use by several goroutines.
type Queue struct {
	node    string
	proxier config.Handler
	listens config.ServiceCIDRHandler // the proxier, if it is told of ranges; otherwise nil

	lock    sync.Mutex // held while the proxier is told something
	holds   bool
	waiting []event
	known   known
	changed bool     // the ranges have changed, and the proxier does not know it yet
	ranges  []string // as they are now
}

var (
	_ config.Handler            = (*Queue)(nil)
	_ config.ServiceCIDRHandler = (*Queue)(nil)
)

// NewQueue returns a queue that tells everything at once.
func NewQueue(node string, proxier config.Handler) *Queue {
	listens, _ := proxier.(config.ServiceCIDRHandler)
	return &Queue{node: node, proxier: config.Selected(proxier), listens: listens, known: known{
		services: map[types.NamespacedName]*corev1.Service{}, slices: map[types.NamespacedName]*discoveryv1.EndpointSlice{},
	}}
}

// event is a change of an object. A new one has no old state, one that is gone no new one.
type event struct {
	kind     scenarios.Watched
	name     types.NamespacedName
	old, now metav1.Object
}

// Knowledge is what the proxier knows now.
func (q *Queue) Knowledge() *Knowledge {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.known.view()
}

// Node is the proxier's own Node object as it knows it, nil if it is not there.
func (q *Queue) Node() *corev1.Node {
	q.lock.Lock()
	defer q.lock.Unlock()
	return q.known.node
}

// Hold says whether what comes from here on is held back. If not, what was held back is told in order.
func (q *Queue) Hold(holds bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.holds = holds
	if !holds {
		q.tellAll(q.waiting)
		q.waiting = nil
		q.tellRanges()
	}
}

// Deliver tells some of what is held back; the rest stays. Changed ranges of ServiceCIDRs stay.
func (q *Queue) Deliver(d scenarios.Delivery) {
	q.lock.Lock()
	defer q.lock.Unlock()
	var now, later []event
	for _, e := range q.waiting {
		if d.Tells(e.kind) && (d.Count == 0 || len(now) < d.Count) {
			now = append(now, e)
		} else {
			later = append(later, e)
		}
	}
	q.waiting = later
	if d.Relist {
		now = relist(now)
	}
	for _, e := range now {
		q.tell(e)
		if d.Twice {
			q.tell(e.again())
		}
	}
}

// relist is what a new list says of objects that have changed several times since the last one: what became of each, deletions last.
func relist(events []event) (out []event) {
	type key struct {
		kind scenarios.Watched
		name types.NamespacedName
	}
	places := map[key]int{}
	for _, e := range events {
		k := key{e.kind, e.name}
		if place, ok := places[k]; ok {
			out[place].now = e.now
			continue
		}
		places[k] = len(out)
		out = append(out, e)
	}
	out = slices.DeleteFunc(out, func(e event) bool { return e.old == nil && e.now == nil })
	slices.SortStableFunc(out, func(a, b event) int { return rank(a) - rank(b) })
	return out
}

func rank(e event) int {
	if e.now == nil {
		return 1
	}
	return 0
}

// again is the event that a proxier gets if it gets the change once more.
func (e event) again() event {
	if e.now != nil {
		e.old = e.now
	}
	return e
}

// note tells a change, or holds it back.
func (q *Queue) note(e event) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.holds {
		q.waiting = append(q.waiting, e)
		return
	}
	q.tell(e)
}

func (q *Queue) tellAll(events []event) {
	for _, e := range events {
		q.tell(e)
	}
}

// tell tells the proxier of a change.
func (q *Queue) tell(e event) {
	switch e.kind {
	case scenarios.WatchedServices:
		tell(e, q.known.services, q.proxier.OnServiceAdd, q.proxier.OnServiceUpdate, q.proxier.OnServiceDelete)
	case scenarios.WatchedEndpointSlices:
		tell(e, q.known.slices, q.proxier.OnEndpointSliceAdd, q.proxier.OnEndpointSliceUpdate, q.proxier.OnEndpointSliceDelete)
	case scenarios.WatchedNodes:
		q.known.node, _ = e.now.(*corev1.Node)
		tell(e, nil, q.proxier.OnNodeAdd, q.proxier.OnNodeUpdate, q.proxier.OnNodeDelete)
	}
}

func tell[T metav1.Object](e event, known map[types.NamespacedName]T, add func(T), update func(old, now T), remove func(T)) {
	if e.now == nil {
		delete(known, e.name)
		remove(e.old.(T))
		return
	}
	now := e.now.(T)
	if known != nil {
		known[e.name] = now
	}
	if e.old == nil {
		add(now)
		return
	}
	update(e.old.(T), now)
}

// OnServiceAdd queues the event.
func (q *Queue) OnServiceAdd(s *corev1.Service) {
	q.note(event{scenarios.WatchedServices, nameOf(s), nil, s})
}

// OnServiceUpdate queues the event.
func (q *Queue) OnServiceUpdate(old, s *corev1.Service) {
	q.note(event{scenarios.WatchedServices, nameOf(s), old, s})
}

// OnServiceDelete queues the event.
func (q *Queue) OnServiceDelete(s *corev1.Service) {
	q.note(event{scenarios.WatchedServices, nameOf(s), s, nil})
}

// OnServiceSynced is passed on at once.
func (q *Queue) OnServiceSynced() { q.proxier.OnServiceSynced() }

// OnEndpointSliceAdd queues the event.
func (q *Queue) OnEndpointSliceAdd(s *discoveryv1.EndpointSlice) {
	q.note(event{scenarios.WatchedEndpointSlices, nameOf(s), nil, s})
}

// OnEndpointSliceUpdate queues the event.
func (q *Queue) OnEndpointSliceUpdate(old, s *discoveryv1.EndpointSlice) {
	q.note(event{scenarios.WatchedEndpointSlices, nameOf(s), old, s})
}

// OnEndpointSliceDelete queues the event.
func (q *Queue) OnEndpointSliceDelete(s *discoveryv1.EndpointSlice) {
	q.note(event{scenarios.WatchedEndpointSlices, nameOf(s), s, nil})
}

// OnEndpointSlicesSynced is passed on at once.
func (q *Queue) OnEndpointSlicesSynced() { q.proxier.OnEndpointSlicesSynced() }

// OnNodeAdd queues the event.
func (q *Queue) OnNodeAdd(n *corev1.Node) { q.noteNode(n.Name, nil, n) }

// OnNodeUpdate queues the event.
func (q *Queue) OnNodeUpdate(old, n *corev1.Node) { q.noteNode(n.Name, old, n) }

// OnNodeDelete queues the event.
func (q *Queue) OnNodeDelete(n *corev1.Node) { q.noteNode(n.Name, n, nil) }

func (q *Queue) noteNode(name string, old, now metav1.Object) {
	if name == q.node {
		q.note(event{scenarios.WatchedNodes, types.NamespacedName{Name: name}, old, now})
	}
}

// OnNodeSynced is passed on at once.
func (q *Queue) OnNodeSynced() { q.proxier.OnNodeSynced() }

// OnServiceCIDRsChanged queues the change. Of several that are held back the proxier is told the last.
func (q *Queue) OnServiceCIDRsChanged(cidrs []string) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.ranges, q.changed = cidrs, true
	if !q.holds {
		q.tellRanges()
	}
}

// tellRanges tells the proxier the ranges, if it does not know them.
func (q *Queue) tellRanges() {
	if !q.changed {
		return
	}
	q.changed, q.known.ranges = false, q.ranges
	if q.listens != nil {
		q.listens.OnServiceCIDRsChanged(q.ranges)
	}
}
