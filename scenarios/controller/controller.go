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

	"github.com/chainwalk/chainwalk/scenarios/manifest"
)

// Controller knows a scenario's objects as they are now, and the slices that it has made. A nil one makes none.
type Controller struct {
	services map[types.NamespacedName]manifest.Object
	pods     map[types.NamespacedName]*corev1.Pod
	nodes    map[string]*corev1.Node
	made     map[types.NamespacedName][]manifest.Object // by service
	// own are the services whose slices the scenario writes itself, and taken the names of all slices that it writes.
	own, taken map[types.NamespacedName]bool
}

// Change is what becomes of the slices that are made: those that are new or others now, and those that are gone.
type Change struct {
	Apply  []manifest.Object
	Delete []manifest.Ref
}

// New makes a controller that knows nothing yet, for a scenario that ever has these objects. It is nil where there is no pod among them, or
// no service with a selector whose slices are not there as well.
func New(ever []manifest.Object) *Controller {
	c := &Controller{
		services: map[types.NamespacedName]manifest.Object{}, pods: map[types.NamespacedName]*corev1.Pod{}, nodes: map[string]*corev1.Node{},
		made: map[types.NamespacedName][]manifest.Object{}, own: map[types.NamespacedName]bool{}, taken: map[types.NamespacedName]bool{},
	}
	pods := false
	for _, o := range ever {
		switch object := o.Object.(type) {
		case *corev1.Pod:
			pods = true
		case *discoveryv1.EndpointSlice:
			c.taken[nameOf(o)] = true
			if service := object.Labels[discoveryv1.LabelServiceName]; service != "" {
				c.own[types.NamespacedName{Namespace: object.Namespace, Name: service}] = true
			}
		}
	}
	if !pods || !slices.ContainsFunc(ever, c.selects) {
		return nil
	}
	return c
}

// selects reports whether an object is a service that slices are made of.
func (c *Controller) selects(o manifest.Object) bool {
	service, ok := o.Object.(*corev1.Service)
	return ok && service.Spec.Selector != nil && service.Spec.Type != corev1.ServiceTypeExternalName && !c.own[nameOf(o)]
}

// Clone is a controller of its own that knows and has made the same.
func (c *Controller) Clone() *Controller {
	if c == nil {
		return nil
	}
	own := *c
	own.services, own.pods, own.nodes, own.made = maps.Clone(c.services), maps.Clone(c.pods), maps.Clone(c.nodes), maps.Clone(c.made)
	return &own
}

// Apply is told of objects that are new or others now. As in a cluster, a service's slices are looked at when it or one of its pods
// changes, and not when a node does.
func (c *Controller) Apply(objects []manifest.Object) (Change, error) {
	if c == nil {
		return Change{}, nil
	}
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

// Delete is told of objects that are gone. The slices of a service go with it.
func (c *Controller) Delete(refs []manifest.Ref) (Change, error) {
	if c == nil {
		return Change{}, nil
	}
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
func (c *Controller) affects(pod *corev1.Pod, affected map[types.NamespacedName]bool) {
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
func (c *Controller) reconcile(affected map[types.NamespacedName]bool) (Change, error) {
	var change Change
	for _, name := range slices.SortedFunc(maps.Keys(affected), compareNames) {
		o, there := c.services[name]
		if there && !c.selects(o) {
			continue // who has lost its selector keeps the slices that it has
		}
		var now []manifest.Object
		if there {
			var err error
			if now, err = c.slicesOf(o); err != nil {
				return Change{}, err
			}
		}
		change.add(c.made[name], now)
		c.made[name] = now
	}
	return change, nil
}

// add notes what makes the slices of a service those that it has now.
func (c *Change) add(before, now []manifest.Object) {
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
