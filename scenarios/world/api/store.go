package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Store holds objects and tells watches of what changes. It knows only the kinds that scenarios have: client-go's fake clientset would link
// every group of the API, and its ObjectTracker all that server-side apply needs.
type Store struct {
	byKind map[string]*shelf
	byType map[reflect.Type]*shelf // an object may come without its kind
}

// heldKind is a kind of objects that a store holds.
type heldKind struct {
	name     string
	resource schema.GroupResource
	example  runtime.Object
}

func heldKinds() []heldKind {
	core := func(resource string) schema.GroupResource {
		return corev1.SchemeGroupVersion.WithResource(resource).GroupResource()
	}
	networking := func(resource string) schema.GroupResource {
		return networkingv1.SchemeGroupVersion.WithResource(resource).GroupResource()
	}
	return []heldKind{
		{"Service", core("services"), &corev1.Service{}},
		{"Node", core("nodes"), &corev1.Node{}},
		{"Pod", core("pods"), &corev1.Pod{}},
		{"Namespace", core("namespaces"), &corev1.Namespace{}},
		{"ConfigMap", core("configmaps"), &corev1.ConfigMap{}},
		{"EndpointSlice", discoveryv1.SchemeGroupVersion.WithResource("endpointslices").GroupResource(), &discoveryv1.EndpointSlice{}},
		{"NetworkPolicy", networking("networkpolicies"), &networkingv1.NetworkPolicy{}},
		{"ServiceCIDR", networking("servicecidrs"), &networkingv1.ServiceCIDR{}},
	}
}

// NewStore returns a store that holds the objects, of several with one name the last.
func NewStore(objects []manifest.Object) (*Store, error) {
	s := &Store{byKind: map[string]*shelf{}, byType: map[reflect.Type]*shelf{}}
	for _, k := range heldKinds() {
		kept := newShelf(k.resource)
		s.byKind[k.name], s.byType[reflect.TypeOf(k.example)] = kept, kept
	}
	for _, o := range lastOfEach(objects) {
		if err := s.put(o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// API is what proxies read of the store. It says of itself that it has no ServiceCIDRs.
func (s *Store) API() config.API { return s.readers(func() {}) }

// readers read the store, and call stands when a watch of it stands.
func (s *Store) readers(stands func()) config.API {
	return config.API{
		Services: reader[*corev1.ServiceList]{s.byKind["Service"], stands, func(m metav1.ListMeta, all []object) *corev1.ServiceList {
			return &corev1.ServiceList{ListMeta: m, Items: values[corev1.Service](all)}
		}},
		EndpointSlices: reader[*discoveryv1.EndpointSliceList]{s.byKind["EndpointSlice"], stands,
			func(m metav1.ListMeta, all []object) *discoveryv1.EndpointSliceList {
				return &discoveryv1.EndpointSliceList{ListMeta: m, Items: values[discoveryv1.EndpointSlice](all)}
			}},
		Nodes: reader[*corev1.NodeList]{s.byKind["Node"], stands, func(m metav1.ListMeta, all []object) *corev1.NodeList {
			return &corev1.NodeList{ListMeta: m, Items: values[corev1.Node](all)}
		}},
		Groups:      noGroups{},
		NoWatchList: true,
	}
}

// values are the objects, all of one type.
func values[T any, P interface {
	*T
	object
}](all []object) []T {
	out := make([]T, len(all))
	for i, o := range all {
		out[i] = *o.(P)
	}
	return out
}

// reader reads the objects of one kind. It selects none, since proxies drop what they did not ask for.
type reader[L runtime.Object] struct {
	*shelf
	stands func()
	listOf func(metav1.ListMeta, []object) L
}

// List implements config.Reader.
func (r reader[L]) List(context.Context, metav1.ListOptions) (list L, err error) {
	all, version := r.list()
	return r.listOf(metav1.ListMeta{ResourceVersion: version}, all), nil
}

// Watch implements config.Reader.
func (r reader[L]) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := r.watch(options.ResourceVersion)
	if err == nil {
		r.stands()
	}
	return events, err
}

// noGroups is an API server that does not say which groups it has.
type noGroups struct{}

// ServerResourcesForGroupVersion implements config.Groups.
func (noGroups) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
}

// put creates an object, or replaces it with its status.
func (s *Store) put(given manifest.Object) error {
	kept, held := s.byType[reflect.TypeOf(given.Object)]
	if !held {
		return fmt.Errorf("apply %s: objects of type %T are not supported", given.Ref(), given.Object)
	}
	kept.put(given.Object.(object)) // all types that are held have metadata
	return nil
}

func (s *Store) remove(ref manifest.Ref) error {
	kept, held := s.byKind[ref.Kind]
	if !held {
		return fmt.Errorf("objects of kind %s are not supported", ref.Kind)
	}
	return kept.remove(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
}

// Replace turns the objects that a store was given before into those that it shall hold now: it writes what differs, and deletes what is
// gone. After some writes it calls pause, in which the store's watches must be read; see package proxier/config. An error about one object
// does not hold up the others.
func (s *Store) Replace(before, now []manifest.Object, pause func()) error {
	old := map[manifest.Ref]manifest.Object{}
	for _, o := range lastOfEach(before) {
		old[o.Ref()] = o
	}
	var errs []error
	writes := 0
	note := func(err error) {
		errs = append(errs, err)
		if writes++; writes%writesPerDelivery == 0 {
			pause()
		}
	}
	now = lastOfEach(now)
	kept := map[manifest.Ref]bool{}
	for _, o := range now {
		kept[o.Ref()] = true
		if was, ok := old[o.Ref()]; !ok || !reflect.DeepEqual(was.Object, o.Object) {
			note(s.put(o))
		}
	}
	for _, o := range lastOfEach(before) {
		if kept[o.Ref()] {
			continue
		}
		if err := s.remove(o.Ref()); err != nil {
			note(fmt.Errorf("delete %s: %w", o.Ref(), err))
			continue
		}
		note(nil)
	}
	return errors.Join(errs...)
}
