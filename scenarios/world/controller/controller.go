package controller

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// controller knows a scenario's objects as they are now, and the slices that it has made.
type controller struct {
	services map[types.NamespacedName]manifest.Object
	pods     map[types.NamespacedName]*corev1.Pod
	nodes    map[string]*corev1.Node
	made     map[types.NamespacedName][]manifest.Object // by service
	own      map[manifest.Ref]bool                      // the services whose slices the scenario writes itself
	taken    map[types.NamespacedName]bool              // the names of all slices that it writes
}

// New makes an empty controller, for a scenario that ever has these objects. It is a manifest.NewSliceController.
func New(ever []manifest.Object) manifest.SliceController {
	c := &controller{
		services: map[types.NamespacedName]manifest.Object{}, pods: map[types.NamespacedName]*corev1.Pod{}, nodes: map[string]*corev1.Node{},
		made: map[types.NamespacedName][]manifest.Object{}, own: manifest.ServicesOfSlices(ever), taken: map[types.NamespacedName]bool{},
	}
	for _, o := range ever {
		if _, ok := o.Object.(*discoveryv1.EndpointSlice); ok {
			c.taken[nameOf(o)] = true
		}
	}
	return c
}

// selects reports whether an object is a service that slices are made of.
func (c *controller) selects(o manifest.Object) bool {
	return manifest.SelectsPods(o) && !c.own[o.Ref()]
}

// Clone is a controller of its own that knows and has made the same.
func (c *controller) Clone() manifest.SliceController {
	own := *c
	own.services, own.pods, own.nodes, own.made = maps.Clone(c.services), maps.Clone(c.pods), maps.Clone(c.nodes), maps.Clone(c.made)
	return &own
}

// Apply takes objects that are new or changed. As in a cluster, a service's slices are looked at when it or one of its pods
// changes, and not when a node does.
func (c *controller) Apply(objects []manifest.Object) (manifest.Change, error) {
	affected := map[types.NamespacedName]bool{}
	for _, o := range objects {
		name := nameOf(o)
		switch object := o.Object.(type) {
		case *corev1.Service:
			c.services[name] = o
			affected[name] = true
		case *corev1.Pod:
			c.affects(c.pods[name], affected)
			c.pods[name] = object
		case *corev1.Node:
			c.nodes[object.Name] = object
		}
	}
	for _, o := range objects {
		if pod, ok := o.Object.(*corev1.Pod); ok {
			c.affects(pod, affected)
		}
	}
	return c.reconcile(affected)
}

// Delete takes objects that are gone. The slices of a service go with it.
func (c *controller) Delete(refs []manifest.Ref) (manifest.Change, error) {
	affected := map[types.NamespacedName]bool{}
	for _, ref := range refs {
		name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
		switch ref.Kind {
		case "Service":
			delete(c.services, name)
			affected[name] = true
		case "Pod":
			c.affects(c.pods[name], affected)
			delete(c.pods, name)
		case "Node":
			delete(c.nodes, ref.Name)
		}
	}
	return c.reconcile(affected)
}

// affects notes the services that select a pod; nil selects none.
func (c *controller) affects(pod *corev1.Pod, affected map[types.NamespacedName]bool) {
	if pod == nil {
		return
	}
	for name, o := range c.services {
		if service := o.Object.(*corev1.Service); service.Namespace == pod.Namespace && selected(service, pod) {
			affected[name] = true
		}
	}
}

func selected(service *corev1.Service, pod *corev1.Pod) bool {
	return service.Spec.Selector != nil && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// reconcile makes the slices of services anew, and says what is another thing than before.
func (c *controller) reconcile(affected map[types.NamespacedName]bool) (manifest.Change, error) {
	var change manifest.Change
	for _, name := range slices.SortedFunc(maps.Keys(affected), compareNames) {
		o, there := c.services[name]
		if there && !c.selects(o) {
			continue // who has lost its selector keeps the slices that it has
		}
		var now []manifest.Object
		if there {
			var err error
			if now, err = c.slicesOf(o); err != nil {
				return manifest.Change{}, err
			}
		}
		add(&change, c.made[name], now)
		c.made[name] = now
	}
	return change, nil
}

// add notes what makes the slices of a service those that it has now.
func add(c *manifest.Change, before, now []manifest.Object) {
	find := func(in []manifest.Object, ref manifest.Ref) (manifest.Object, bool) {
		at := slices.IndexFunc(in, func(o manifest.Object) bool { return o.Ref() == ref })
		if at < 0 {
			return manifest.Object{}, false
		}
		return in[at], true
	}
	for _, o := range now {
		if old, ok := find(before, o.Ref()); !ok || !reflect.DeepEqual(old.Object, o.Object) {
			c.Apply = append(c.Apply, o)
		}
	}
	for _, o := range before {
		if _, ok := find(now, o.Ref()); !ok {
			c.Delete = append(c.Delete, o.Ref())
		}
	}
}

func nameOf(o manifest.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.Meta().GetNamespace(), Name: o.Meta().GetName()}
}

func compareNames(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }
