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

// anyService is a service that is there, nil if there is none.
func (g *generator) anyService() *corev1.Service {
	if len(g.services) == 0 {
		return nil
	}
	return pick(&g.draw, g.services...)
}

// anySlice is a slice that is there, nil if there is none.
func (g *generator) anySlice() *discoveryv1.EndpointSlice {
	if len(g.slices) == 0 {
		return nil
	}
	return pick(&g.draw, g.slices...)
}

// serviceOf is the service of a slice, nil if there is none.
func (g *generator) serviceOf(slice *discoveryv1.EndpointSlice) *corev1.Service {
	i := slices.IndexFunc(g.services, func(s *corev1.Service) bool {
		return s.Namespace == slice.Namespace && s.Name == slice.Labels[discoveryv1.LabelServiceName]
	})
	if i < 0 {
		return nil
	}
	return g.services[i]
}

// slicesFor are the slices of a service that are there.
func (g *generator) slicesFor(s *corev1.Service) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, slice := range g.slices {
		if slice.Namespace == s.Namespace && slice.Labels[discoveryv1.LabelServiceName] == s.Name {
			out = append(out, slice)
		}
	}
	return out
}

// changeService changes one thing about a service, or nothing that matters.
func (g *generator) changeService() {
	s := g.anyService()
	if s == nil {
		g.addService()
		return
	}
	s = s.DeepCopy()
	choose(&g.draw, []weighted[func(*corev1.Service)]{
		{10, g.chooseType}, {15, g.choosePorts}, {15, g.editPorts}, {20, g.choosePolicies}, {10, g.chooseAffinity}, {15, g.chooseExternalIPs}, {15, g.chooseBalancer},
		{5, func(s *corev1.Service) {
			s.Annotations = map[string]string{"touched": fmt.Sprint(len(g.out.Steps))}
		}},
		{5, func(*corev1.Service) {}},
	})(s)
	if len(s.Spec.Ports) == 0 && s.Spec.Type != corev1.ServiceTypeExternalName { // it was an ExternalName
		g.choosePorts(s)
	}
	g.complete(s)
	g.apply(g.note(object(s)))
}

func (g *generator) addService() {
	if len(g.services) < len(serviceNames) {
		g.apply(g.serviceWithSlices()...)
	}
}

// forgetService takes a service from those that are there.
func (g *generator) forgetService(s *corev1.Service) {
	g.services = slices.DeleteFunc(slices.Clone(g.services), func(o *corev1.Service) bool { return sameService(o, s) })
	g.deleted = append(g.deleted, s)
}

func (g *generator) forgetSlice(s *discoveryv1.EndpointSlice) {
	g.slices = slices.DeleteFunc(slices.Clone(g.slices), func(o *discoveryv1.EndpointSlice) bool { return sameSlice(o, s) })
}

// removeService deletes a service, and its slices at once, later or never.
func (g *generator) removeService() {
	s := g.anyService()
	if s == nil {
		return
	}
	owned := g.slicesFor(s)
	g.forgetService(s)
	gone := []manifest.Object{object(s)}
	switch g.below(3) {
	case 0:
		gone = append(gone, sliceObjects(owned...)...)
	case 1:
		g.remove(gone...)
		gone = sliceObjects(owned...)
	case 2:
		owned = nil
	}
	for _, slice := range owned {
		g.forgetSlice(slice)
	}
	g.remove(gone...)
}

// absent has a service be there no longer, and then again as it was, with the slices there all the time.
func (g *generator) absent() {
	s := g.anyService()
	if s == nil {
		return
	}
	g.remove(object(s))
	g.apply(object(s))
}

// disown has a slice be no service's any longer, or another one's, and then be gone.
func (g *generator) disown() {
	slice := g.anySlice()
	if slice == nil {
		return
	}
	orphan := slice.DeepCopy()
	orphan.Labels = nil
	g.apply(g.note(object(orphan)))
	if len(g.services) > 0 && g.in(1, 2) {
		adopted := orphan.DeepCopy()
		adopted.Labels = map[string]string{discoveryv1.LabelServiceName: g.anyService().Name}
		g.apply(g.note(object(adopted)))
		return
	}
	g.forgetSlice(orphan)
	g.remove(object(orphan))
}

// recreate deletes a service and makes one of the same name that has other addresses,
// in two steps or in one that proxiers see as a change.
func (g *generator) recreate() {
	s := g.anyService()
	if s == nil {
		return
	}
	g.forgetService(s)
	again := g.newService()
	again.Namespace, again.Name = s.Namespace, s.Name
	if g.in(1, 2) {
		g.remove(object(s))
	}
	g.apply(g.note(object(again)))
}

func (g *generator) removeSlice() {
	if slice := g.anySlice(); slice != nil {
		g.forgetSlice(slice)
		g.remove(object(slice))
	}
}

// changeSlice changes something about the endpoints of a slice.
func (g *generator) changeSlice() {
	slice := g.anySlice()
	if slice == nil || g.in(1, 15) {
		g.newSliceOfAny()
		return
	}
	slice = slice.DeepCopy()
	if g.in(1, 12) { // a word for somebody else, as leader election once left one
		slice.Annotations = map[string]string{"touched": fmt.Sprint(len(g.out.Steps))}
		g.apply(g.note(object(slice)))
		return
	}
	for range choose(&g.draw, []weighted[int]{{75, 1}, {25, 2}}) {
		g.changeEndpoints(slice)
	}
	if g.has.Has(OddSlices) && g.in(1, 8) && len(g.services) > 0 {
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: g.anyService().Name}
	}
	g.apply(g.note(object(slice)))
}

func (g *generator) newSliceOfAny() {
	s := g.anyService()
	if s == nil || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	family := pick(&g.draw, g.families...) // the service may not have it
	slice := g.newSlice(s, family, 1+g.below(3))
	style := g.hintStyle()
	for _, p := range g.somePods(s, 1+g.below(2)) {
		g.addEndpoint(slice, p, style)
	}
	g.apply(g.note(object(slice)))
}

// addEndpoint adds a pod to a slice. A slice has an address once; another slice of the
// service may have it too where the scenario may hold duplicates.
func (g *generator) addEndpoint(to *discoveryv1.EndpointSlice, p pod, style hintStyle) {
	address := p.address(corev1.IPFamily(to.AddressType))
	if hasAddress(to, address) {
		return
	}
	s := g.serviceOf(to)
	if s != nil && !g.has.Has(Duplicates) && slices.ContainsFunc(g.slicesFor(s), func(o *discoveryv1.EndpointSlice) bool {
		return !sameSlice(o, to) && hasAddress(o, address)
	}) {
		return
	}
	to.Endpoints = append(to.Endpoints, g.endpoint(corev1.IPFamily(to.AddressType), p, style))
}

// hasAddress reports whether an endpoint of a slice has an address, however it is spelled.
func hasAddress(slice *discoveryv1.EndpointSlice, address string) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return canonical(e.Addresses[0]) == canonical(address) })
}

func (g *generator) changeEndpoints(slice *discoveryv1.EndpointSlice) {
	s, n := g.serviceOf(slice), len(slice.Endpoints)
	switch kind := g.below(20); {
	case kind < 7 && n > 0:
		e := &slice.Endpoints[g.below(n)]
		if ready := e.Conditions.Ready; g.has.Has(NotReady) && ready != nil && g.in(1, 4) {
			is := !*ready
			e.Conditions.Ready = &is // alone, as in slices that say nothing else
			return
		}
		e.Conditions = g.otherConditions()
	case kind < 12 && n > 0:
		i := g.below(n)
		slice.Endpoints = slices.Delete(slice.Endpoints, i, i+1)
	case kind < 17 && s != nil:
		g.addEndpoint(slice, g.somePod(s), g.hintStyle())
	case kind < 19:
		style := g.hintStyle()
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			zone := ""
			if e.Zone != nil {
				zone = *e.Zone
			}
			e.Hints = g.hints(e.NodeName, zone, style)
		}
	case s != nil:
		slice.Ports = g.slicePorts(s)
	}
}

// otherConditions are those of any state that the features allow, ready among them.
func (g *generator) otherConditions() discoveryv1.EndpointConditions {
	if g.in(1, 4) {
		return g.conditions(g.below(2)) // ready, if the features have nothing else
	}
	return g.conditions(1)
}

// rollOut replaces an endpoint: it terminates, another comes, and then it is gone.
func (g *generator) rollOut() {
	slice := g.anySlice()
	if slice == nil || len(slice.Endpoints) == 0 {
		return
	}
	s := g.serviceOf(slice)
	if s == nil {
		return
	}
	slice = slice.DeepCopy()
	i := g.below(len(slice.Endpoints))
	no, yes, serving := false, true, !g.in(1, 4)
	if g.has.Has(Terminating) {
		slice.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &serving, Terminating: &yes}
	}
	g.addEndpoint(slice, g.somePod(s), g.hintStyle())
	g.apply(g.note(object(slice)))
	slice = slice.DeepCopy()
	slice.Endpoints = slices.Delete(slice.Endpoints, i, i+1)
	g.apply(g.note(object(slice)))
}

// flap has an endpoint be there no longer, and then again as it was, at once or after the sync period.
func (g *generator) flap() {
	slice := g.anySlice()
	if slice == nil || len(slice.Endpoints) == 0 || slice.Name == bigName {
		return
	}
	again, gone := slice.DeepCopy(), slice.DeepCopy()
	i := g.below(len(gone.Endpoints))
	gone.Endpoints = slices.Delete(gone.Endpoints, i, i+1)
	g.apply(g.note(object(gone)))
	if g.has.Has(Time) && g.in(1, 4) {
		g.wait(syncPeriod + time.Second)
	}
	g.apply(g.note(object(again)))
	if g.has.Has(Time) && g.in(1, 2) {
		g.wait(syncPeriod + time.Second)
		g.changeSlice()
	}
}

// briefSlice numbers slices that are gone before any node syncs, apart from others of their service.
const briefSlice = 9

// hesitate makes something that is taken back before any node syncs: a new slice, or one of those that are there without endpoints.
func (g *generator) hesitate() {
	s := g.anyService()
	if s == nil || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	unsynced := func(step scenarios.Step) {
		step.Sync = &scenarios.NodeSet{}
		g.step(step)
	}
	owned := g.slicesFor(s)
	if len(owned) > 0 && g.in(1, 2) {
		is := pick(&g.draw, owned...)
		was := is.DeepCopy()
		was.Endpoints = nil
		unsynced(scenarios.Step{Apply: []manifest.Object{object(was)}})
		g.apply(object(is))
		return
	}
	brief := g.newSlice(s, pick(&g.draw, g.families...), briefSlice)
	for _, p := range g.somePods(s, 1) {
		g.addEndpoint(brief, p, noHints)
	}
	unsynced(scenarios.Step{Apply: []manifest.Object{object(brief)}})
	g.remove(object(brief))
}

// scale takes all endpoints of a service away, or brings some to one that has none.
func (g *generator) scale() {
	slice := g.anySlice()
	if slice == nil {
		g.newSliceOfAny()
		return
	}
	s := g.serviceOf(slice)
	if s == nil {
		return
	}
	var changed []manifest.Object
	empty := g.in(2, 3)
	for _, one := range g.slicesFor(s) {
		one = one.DeepCopy()
		if one.Endpoints == nil || !empty {
			for _, p := range g.somePods(s, 1+g.below(3)) {
				g.addEndpoint(one, p, noHints)
			}
		} else {
			one.Endpoints = nil
		}
		changed = append(changed, g.note(object(one)))
	}
	g.apply(changed...)
}

// moveEndpoint puts an endpoint of one slice into another of the same service: first
// there and then not here any longer, or the other way round.
func (g *generator) moveEndpoint() {
	from := g.anySlice()
	if from == nil || len(from.Endpoints) == 0 {
		return
	}
	s := g.serviceOf(from)
	if s == nil {
		return
	}
	others := slices.DeleteFunc(g.slicesFor(s), func(o *discoveryv1.EndpointSlice) bool {
		return o.Name == from.Name || o.AddressType != from.AddressType
	})
	if len(others) == 0 {
		return
	}
	from, to := from.DeepCopy(), pick(&g.draw, others...).DeepCopy()
	if !hasAddress(to, from.Endpoints[0].Addresses[0]) {
		to.Endpoints = append(to.Endpoints, from.Endpoints[0])
	}
	from.Endpoints = from.Endpoints[1:]
	first, second := to, from
	if g.in(1, 3) {
		first, second = from, to
	}
	g.apply(g.note(object(first)))
	g.apply(g.note(object(second)))
}
