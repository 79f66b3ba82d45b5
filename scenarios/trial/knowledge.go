package trial

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// knowledge is what a node's proxier was told. It hears what the proxier hears, so that
// what was held back, told twice or told late is known as the proxier knows it.
type knowledge struct {
	config.Handler // the proxier

	node     string
	services map[types.NamespacedName]*corev1.Service
	slices   map[types.NamespacedName]*discoveryv1.EndpointSlice
	object   *corev1.Node
	// changed are the services that something was said of since the last sync that ended well.
	changed map[types.NamespacedName]bool
	// elsewhere says that something else changed, that concerns every service.
	elsewhere bool
}

func newKnowledge(node string, proxier config.Handler) *knowledge {
	return &knowledge{
		Handler: proxier, node: node, elsewhere: true,
		services: map[types.NamespacedName]*corev1.Service{},
		slices:   map[types.NamespacedName]*discoveryv1.EndpointSlice{},
		changed:  map[types.NamespacedName]bool{},
	}
}

func serviceName(s *corev1.Service) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

func sliceName(s *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
}

// serviceOf is the service that a slice is of.
func serviceOf(s *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
}

func (k *knowledge) service(s *corev1.Service) {
	k.services[serviceName(s)] = s
	k.changed[serviceName(s)] = true
}

// OnServiceAdd notes the service.
func (k *knowledge) OnServiceAdd(s *corev1.Service) {
	k.service(s)
	k.Handler.OnServiceAdd(s)
}

// OnServiceUpdate notes the service.
func (k *knowledge) OnServiceUpdate(old, s *corev1.Service) {
	k.service(s)
	k.Handler.OnServiceUpdate(old, s)
}

// OnServiceDelete forgets the service.
func (k *knowledge) OnServiceDelete(s *corev1.Service) {
	delete(k.services, serviceName(s))
	k.changed[serviceName(s)] = true
	k.Handler.OnServiceDelete(s)
}

// slice notes a slice; one that was another service's before concerns both.
func (k *knowledge) slice(s *discoveryv1.EndpointSlice) {
	if old := k.slices[sliceName(s)]; old != nil {
		k.changed[serviceOf(old)] = true
	}
	k.slices[sliceName(s)] = s
	k.changed[serviceOf(s)] = true
}

// OnEndpointSliceAdd notes the slice.
func (k *knowledge) OnEndpointSliceAdd(s *discoveryv1.EndpointSlice) {
	k.slice(s)
	k.Handler.OnEndpointSliceAdd(s)
}

// OnEndpointSliceUpdate notes the slice.
func (k *knowledge) OnEndpointSliceUpdate(old, s *discoveryv1.EndpointSlice) {
	k.slice(s)
	k.Handler.OnEndpointSliceUpdate(old, s)
}

// OnEndpointSliceDelete forgets the slice.
func (k *knowledge) OnEndpointSliceDelete(s *discoveryv1.EndpointSlice) {
	if old := k.slices[sliceName(s)]; old != nil {
		k.changed[serviceOf(old)] = true
	}
	delete(k.slices, sliceName(s))
	k.changed[serviceOf(s)] = true
	k.Handler.OnEndpointSliceDelete(s)
}

// own notes the node's own object; it may be told of others.
func (k *knowledge) own(n, now *corev1.Node) {
	if n.Name == k.node {
		k.object, k.elsewhere = now, true
	}
}

// OnNodeAdd notes the node's object.
func (k *knowledge) OnNodeAdd(n *corev1.Node) {
	k.own(n, n)
	k.Handler.OnNodeAdd(n)
}

// OnNodeUpdate notes the node's object.
func (k *knowledge) OnNodeUpdate(old, n *corev1.Node) {
	k.own(n, n)
	k.Handler.OnNodeUpdate(old, n)
}

// OnNodeDelete forgets the node's object.
func (k *knowledge) OnNodeDelete(n *corev1.Node) {
	k.own(n, nil)
	k.Handler.OnNodeDelete(n)
}

// view is what is known now, in the order of names.
func (k *knowledge) view() *view {
	return &view{services: byName(k.services), slices: byName(k.slices), object: k.object}
}

// changedServices are the services that something was said of, in the order of names.
func (k *knowledge) changedServices() []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(k.changed), compareNames)
}

// synced forgets what changed: it is in the rules.
func (k *knowledge) synced() {
	clear(k.changed)
	k.elsewhere = false
}

func byName[T any](objects map[types.NamespacedName]T) []T {
	out := make([]T, 0, len(objects))
	for _, name := range slices.SortedFunc(maps.Keys(objects), compareNames) {
		out = append(out, objects[name])
	}
	return out
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// view is what a proxier knew at one time. It does not change.
type view struct {
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
	object   *corev1.Node
}

// same reports whether both know the same of services: the objects are shared, so that
// the same one is the same pointer.
func (v *view) same(o *view) bool {
	return slices.Equal(v.services, o.services) && slices.Equal(v.slices, o.slices)
}
