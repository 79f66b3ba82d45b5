package api

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Direct is an API without a clientset and informers: it holds objects as they are given, does not copy them, and
// tells each proxier of a change before the next one. What proxiers are told is what they are told by an API; it is for
// cases of which there are many.
type Direct struct {
	known   known
	nodes   map[string]*corev1.Node
	others  map[manifest.Ref]bool // objects that no proxier watches
	proxies []*directFeed
	ranges  ranges
}

// directFeed is one proxier's place. It is a pointer, so that one proxier can have several.
type directFeed struct{ config.Handler }

// NewDirect makes an API that holds the objects, of several with one name the last.
func NewDirect(objects []manifest.Object) (*Direct, error) {
	d := &Direct{
		known: known{
			services: map[types.NamespacedName]*corev1.Service{}, slices: map[types.NamespacedName]*discoveryv1.EndpointSlice{},
		},
		nodes: map[string]*corev1.Node{}, others: map[manifest.Ref]bool{},
	}
	for _, o := range objects {
		if err := d.put(o); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Node returns the Node object of that name.
func (d *Direct) Node(_ context.Context, name string) (*corev1.Node, error) {
	if node := d.nodes[name]; node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("there is no Node %s", name)
}

// Feed tells a proxier what is there, and from then on what changes, until remove is called.
func (d *Direct) Feed(_ context.Context, proxy config.Handler) (remove func(), err error) {
	for _, node := range sortedByName(d.nodes) {
		proxy.OnNodeAdd(node)
	}
	forget := d.ranges.feed(proxy)
	d.known.view().Tell(proxy)
	feed := &directFeed{proxy}
	d.proxies = append(d.proxies, feed)
	return func() {
		forget()
		d.proxies = slices.DeleteFunc(slices.Clone(d.proxies), func(f *directFeed) bool { return f == feed })
	}, nil
}

func sortedByName(nodes map[string]*corev1.Node) []*corev1.Node {
	named := make(map[types.NamespacedName]*corev1.Node, len(nodes))
	for name, node := range nodes {
		named[types.NamespacedName{Name: name}] = node
	}
	return sorted(named)
}

// Apply writes objects; every proxier has been told of them when it returns.
func (d *Direct) Apply(_ context.Context, objects []manifest.Object) error {
	for _, o := range objects {
		if err := d.put(o); err != nil {
			return err
		}
	}
	return nil
}

func (d *Direct) put(given manifest.Object) error {
	switch o := given.Object.(type) {
	case *corev1.Service:
		if old := swap(d.known.services, o); old == nil {
			d.tell(func(p config.Handler) { p.OnServiceAdd(o) })
		} else {
			d.tell(func(p config.Handler) { p.OnServiceUpdate(old, o) })
		}
	case *discoveryv1.EndpointSlice:
		if old := swap(d.known.slices, o); old == nil {
			d.tell(func(p config.Handler) { p.OnEndpointSliceAdd(o) })
		} else {
			d.tell(func(p config.Handler) { p.OnEndpointSliceUpdate(old, o) })
		}
	case *corev1.Node:
		old := d.nodes[o.Name]
		d.nodes[o.Name] = o
		if old == nil {
			d.tell(func(p config.Handler) { p.OnNodeAdd(o) })
		} else {
			d.tell(func(p config.Handler) { p.OnNodeUpdate(old, o) })
		}
	case *networkingv1.ServiceCIDR:
		d.ranges.put(o)
	case *corev1.Pod, *corev1.Namespace:
		d.others[given.Ref()] = true
	default:
		return fmt.Errorf("apply: objects of type %T are not supported", o)
	}
	return nil
}

// swap replaces the object of a name, and returns the one that was there.
func swap[T metav1.Object](in map[types.NamespacedName]T, o T) (old T) {
	name := nameOf(o)
	old = in[name]
	in[name] = o
	return old
}

func (d *Direct) tell(tell func(config.Handler)) {
	for _, p := range d.proxies {
		tell(p)
	}
}

// Delete deletes objects; every proxier knows when it returns. One that is not there is an error.
func (d *Direct) Delete(_ context.Context, refs []manifest.Ref) error {
	for _, ref := range refs {
		if !d.remove(ref) {
			return fmt.Errorf("delete %s: it is not there", ref)
		}
	}
	return nil
}

// remove reports whether the object was there.
func (d *Direct) remove(ref manifest.Ref) bool {
	name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	switch ref.Kind {
	case "Service":
		old := d.known.services[name]
		delete(d.known.services, name)
		return old != nil && d.told(func(p config.Handler) { p.OnServiceDelete(old) })
	case "EndpointSlice":
		old := d.known.slices[name]
		delete(d.known.slices, name)
		return old != nil && d.told(func(p config.Handler) { p.OnEndpointSliceDelete(old) })
	case "Node":
		old := d.nodes[ref.Name]
		delete(d.nodes, ref.Name)
		return old != nil && d.told(func(p config.Handler) { p.OnNodeDelete(old) })
	}
	if ref.Kind == "ServiceCIDR" {
		return d.ranges.remove(ref.Name)
	}
	there := d.others[ref]
	delete(d.others, ref)
	return there
}

func (d *Direct) told(tell func(config.Handler)) bool {
	d.tell(tell)
	return true
}
