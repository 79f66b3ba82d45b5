package gen

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// objectEvents are what happens to services and slices.
type objectEvents struct {
	*workloads
	course *course
}

// changeService changes one thing about a service, or nothing that matters.
func (h *objectEvents) changeService() {
	s := h.anyService()
	if s == nil {
		h.addService()
		return
	}
	s = s.DeepCopy()
	choose(h.draw, []weighted[func(*corev1.Service)]{
		{10, h.services.chooseType}, {15, h.services.choosePorts}, {15, h.services.editPorts}, {20, h.services.choosePolicies},
		{10, h.services.chooseAffinity}, {15, h.services.chooseExternalIPs}, {15, h.services.chooseBalancer},
		{5, func(s *corev1.Service) {
			s.Annotations = map[string]string{"touched": fmt.Sprint(len(h.course.steps))}
		}},
		{5, func(*corev1.Service) {}},
	})(s)
	if len(s.Spec.Ports) == 0 && s.Spec.Type != corev1.ServiceTypeExternalName { // it was an ExternalName
		h.services.choosePorts(s)
	}
	h.services.complete(s)
	h.course.apply(h.cluster.note(object(s)))
}

func (h *objectEvents) addService() {
	if len(h.cluster.services) < len(serviceNames) {
		h.course.apply(h.withSlices()...)
	}
}

// removeService deletes a service, and its slices at once, later or never.
func (h *objectEvents) removeService() {
	s := h.anyService()
	if s == nil {
		return
	}
	owned := h.cluster.slicesFor(s)
	h.cluster.forgetService(s)
	gone := []manifest.Object{object(s)}
	switch h.below(3) {
	case 0:
		gone = append(gone, sliceObjects(owned...)...)
	case 1:
		h.course.remove(gone...)
		gone = sliceObjects(owned...)
	case 2:
		owned = nil
	}
	for _, slice := range owned {
		h.cluster.forgetSlice(slice)
	}
	h.course.remove(gone...)
}

// absent has a service be there no longer, and then again as it was, with the slices there all the time.
func (h *objectEvents) absent() {
	s := h.anyService()
	if s == nil {
		return
	}
	h.course.remove(object(s))
	h.course.apply(object(s))
}

// disown has a slice be no service's any longer, or another one's, and then be gone.
func (h *objectEvents) disown() {
	slice := h.anySlice()
	if slice == nil {
		return
	}
	orphan := slice.DeepCopy()
	orphan.Labels = nil
	h.course.apply(h.cluster.note(object(orphan)))
	if len(h.cluster.services) > 0 && h.in(1, 2) {
		adopted := orphan.DeepCopy()
		adopted.Labels = map[string]string{discoveryv1.LabelServiceName: h.anyService().Name}
		h.course.apply(h.cluster.note(object(adopted)))
		return
	}
	h.cluster.forgetSlice(orphan)
	h.course.remove(object(orphan))
}

// recreate deletes a service and makes one of the same name that has other addresses,
// in two steps or in one that proxiers see as a change.
func (h *objectEvents) recreate() {
	s := h.anyService()
	if s == nil {
		return
	}
	h.cluster.forgetService(s)
	again := h.services.newService()
	again.Namespace, again.Name = s.Namespace, s.Name
	if h.in(1, 2) {
		h.course.remove(object(s))
	}
	h.course.apply(h.cluster.note(object(again)))
}

func (h *objectEvents) removeSlice() {
	if slice := h.anySlice(); slice != nil {
		h.cluster.forgetSlice(slice)
		h.course.remove(object(slice))
	}
}

// changeSlice changes something about the endpoints of a slice.
func (h *objectEvents) changeSlice() {
	slice := h.anySlice()
	if slice == nil || h.in(1, 15) {
		h.newSliceOfAny()
		return
	}
	slice = slice.DeepCopy()
	if h.in(1, 12) { // a word for somebody else, as leader election once left one
		slice.Annotations = map[string]string{"touched": fmt.Sprint(len(h.course.steps))}
		h.course.apply(h.cluster.note(object(slice)))
		return
	}
	for range choose(h.draw, []weighted[int]{{75, 1}, {25, 2}}) {
		h.slices.changeEndpoints(slice)
	}
	if h.has.Has(OddSlices) && h.in(1, 8) && len(h.cluster.services) > 0 {
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: h.anyService().Name}
	}
	h.course.apply(h.cluster.note(object(slice)))
}

func (h *objectEvents) newSliceOfAny() {
	s := h.anyService()
	if s == nil || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	family := pick(h.draw, h.cluster.families...) // the service may not have it
	slice := h.slices.newSlice(s, family, 1+h.below(3))
	style := h.slices.hintStyle()
	for _, p := range h.slices.somePods(s, 1+h.below(2)) {
		h.slices.addEndpoint(slice, p, style)
	}
	h.course.apply(h.cluster.note(object(slice)))
}

// rollOut replaces an endpoint: it terminates, another comes, and then it is gone.
func (h *objectEvents) rollOut() {
	slice := h.anySlice()
	if slice == nil || len(slice.Endpoints) == 0 {
		return
	}
	s := h.cluster.serviceOf(slice)
	if s == nil {
		return
	}
	slice = slice.DeepCopy()
	i := h.below(len(slice.Endpoints))
	no, yes, serving := false, true, !h.in(1, 4)
	if h.has.Has(Terminating) {
		slice.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &serving, Terminating: &yes}
	}
	h.slices.addEndpoint(slice, h.slices.somePod(s), h.slices.hintStyle())
	h.course.apply(h.cluster.note(object(slice)))
	slice = slice.DeepCopy()
	slice.Endpoints = slices.Delete(slice.Endpoints, i, i+1)
	h.course.apply(h.cluster.note(object(slice)))
}

// flap has an endpoint be there no longer, and then again as it was, at once or after the sync period.
func (h *objectEvents) flap() {
	slice := h.anySlice()
	if slice == nil || len(slice.Endpoints) == 0 || slice.Name == bigName {
		return
	}
	again, gone := slice.DeepCopy(), slice.DeepCopy()
	i := h.below(len(gone.Endpoints))
	gone.Endpoints = slices.Delete(gone.Endpoints, i, i+1)
	h.course.apply(h.cluster.note(object(gone)))
	if h.has.Has(Time) && h.in(1, 4) {
		h.course.wait(syncPeriod + time.Second)
	}
	h.course.apply(h.cluster.note(object(again)))
	if h.has.Has(Time) && h.in(1, 2) {
		h.course.wait(syncPeriod + time.Second)
		h.changeSlice()
	}
}

// briefSlice numbers slices that are gone before any node syncs, apart from others of their service.
const briefSlice = 9

// hesitate makes something that is taken back before any node syncs: a new slice, or one of those that are there without endpoints.
func (h *objectEvents) hesitate() {
	s := h.anyService()
	if s == nil || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	unsynced := func(step scenarios.Step) {
		step.Sync = &scenarios.NodeSet{}
		h.course.step(step)
	}
	owned := h.cluster.slicesFor(s)
	if len(owned) > 0 && h.in(1, 2) {
		is := pick(h.draw, owned...)
		was := is.DeepCopy()
		was.Endpoints = nil
		unsynced(scenarios.Step{Apply: []manifest.Object{object(was)}})
		h.course.apply(object(is))
		return
	}
	brief := h.slices.newSlice(s, pick(h.draw, h.cluster.families...), briefSlice)
	for _, p := range h.slices.somePods(s, 1) {
		h.slices.addEndpoint(brief, p, noHints)
	}
	unsynced(scenarios.Step{Apply: []manifest.Object{object(brief)}})
	h.course.remove(object(brief))
}

// scale takes all endpoints of a service away, or brings some to one that has none.
func (h *objectEvents) scale() {
	slice := h.anySlice()
	if slice == nil {
		h.newSliceOfAny()
		return
	}
	s := h.cluster.serviceOf(slice)
	if s == nil {
		return
	}
	var changed []manifest.Object
	empty := h.in(2, 3)
	for _, one := range h.cluster.slicesFor(s) {
		one = one.DeepCopy()
		if one.Endpoints == nil || !empty {
			for _, p := range h.slices.somePods(s, 1+h.below(3)) {
				h.slices.addEndpoint(one, p, noHints)
			}
		} else {
			one.Endpoints = nil
		}
		changed = append(changed, h.cluster.note(object(one)))
	}
	h.course.apply(changed...)
}

// moveEndpoint puts an endpoint of one slice into another of the same service: first
// there and then not here any longer, or the other way round.
func (h *objectEvents) moveEndpoint() {
	from := h.anySlice()
	if from == nil || len(from.Endpoints) == 0 {
		return
	}
	s := h.cluster.serviceOf(from)
	if s == nil {
		return
	}
	others := slices.DeleteFunc(h.cluster.slicesFor(s), func(o *discoveryv1.EndpointSlice) bool {
		return o.Name == from.Name || o.AddressType != from.AddressType
	})
	if len(others) == 0 {
		return
	}
	from, to := from.DeepCopy(), pick(h.draw, others...).DeepCopy()
	if !hasAddress(to, from.Endpoints[0].Addresses[0]) {
		to.Endpoints = append(to.Endpoints, from.Endpoints[0])
	}
	if h.options.HandOvers && h.in(1, 3) { // another pod has the address of one that still terminates
		no, yes, serving := false, true, h.in(1, 2)
		from.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &serving, Terminating: &yes}
	} else {
		from.Endpoints = from.Endpoints[1:]
	}
	first, second := to, from
	if h.in(1, 3) {
		first, second = from, to
	}
	h.course.apply(h.cluster.note(object(first)))
	h.course.apply(h.cluster.note(object(second)))
}
