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
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/chainwalk/chainwalk/proxier/config"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Store holds objects and tells watches of what changes. It is what client-go's fake clientset keeps its objects in, an ObjectTracker, that
// knows only the kinds which scenarios have: the clientset would link every group of the API.
type Store struct {
	scheme  *runtime.Scheme
	tracker clienttesting.ObjectTracker
}

// resources are the resources of the kinds that a store holds.
func resources() map[string]schema.GroupVersionResource {
	core := corev1.SchemeGroupVersion
	return map[string]schema.GroupVersionResource{
		"Service": core.WithResource("services"), "Node": core.WithResource("nodes"), "Pod": core.WithResource("pods"),
		"Namespace": core.WithResource("namespaces"), "ConfigMap": core.WithResource("configmaps"),
		"EndpointSlice": discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		"NetworkPolicy": networkingv1.SchemeGroupVersion.WithResource("networkpolicies"),
		"ServiceCIDR":   networkingv1.SchemeGroupVersion.WithResource("servicecidrs"),
	}
}

// NewStore returns a store that holds the objects, of several with one name the last.
func NewStore(objects []manifest.Object) (*Store, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{}, &corev1.Node{}, &corev1.NodeList{},
		&corev1.Pod{}, &corev1.PodList{}, &corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
	scheme.AddKnownTypes(discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{})
	scheme.AddKnownTypes(networkingv1.SchemeGroupVersion, &networkingv1.NetworkPolicy{}, &networkingv1.NetworkPolicyList{},
		&networkingv1.ServiceCIDR{}, &networkingv1.ServiceCIDRList{})
	s := &Store{scheme: scheme, tracker: clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())}
	for _, o := range lastOfEach(objects) {
		if err := s.tracker.Add(o.DeepCopyObject()); err != nil {
			return nil, fmt.Errorf("take %s: %w", o.Ref(), err)
		}
	}
	return s, nil
}

// API is what proxies read of the store. It says of itself that it has no ServiceCIDRs.
func (s *Store) API() config.API { return s.readers(func() {}) }

// readers read the store, and call stands when a watch of it stands.
func (s *Store) readers(stands func()) config.API {
	of := resources()
	return config.API{
		Services:       reader[*corev1.ServiceList]{s.tracker, of["Service"], "Service", stands},
		EndpointSlices: reader[*discoveryv1.EndpointSliceList]{s.tracker, of["EndpointSlice"], "EndpointSlice", stands},
		Nodes:          reader[*corev1.NodeList]{s.tracker, of["Node"], "Node", stands},
		Groups:         noGroups{},
		NoWatchList:    true,
	}
}

// reader reads the objects of one kind. It selects none, since proxies drop what they did not ask for.
type reader[L runtime.Object] struct {
	tracker  clienttesting.ObjectTracker
	resource schema.GroupVersionResource
	kind     string
	stands   func()
}

// List implements config.Reader.
func (r reader[L]) List(_ context.Context, options metav1.ListOptions) (list L, err error) {
	found, err := r.tracker.List(r.resource, r.resource.GroupVersion().WithKind(r.kind), metav1.NamespaceAll, options)
	if err != nil {
		return list, err
	}
	return found.(L), nil
}

// Watch implements config.Reader.
func (r reader[L]) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := r.tracker.Watch(r.resource, metav1.NamespaceAll, options)
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
func (s *Store) put(o manifest.Object) error {
	kinds, _, err := s.scheme.ObjectKinds(o.Object)
	if err != nil {
		return fmt.Errorf("apply %s: objects of type %T are not supported", o.Ref(), o.Object)
	}
	resource := resources()[kinds[0].Kind]
	err = s.tracker.Create(resource, o.Object, o.Meta().GetNamespace())
	if apierrors.IsAlreadyExists(err) {
		err = s.tracker.Update(resource, o.Object, o.Meta().GetNamespace())
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", o.Ref(), err)
	}
	return nil
}

func (s *Store) remove(ref manifest.Ref) error {
	resource, ok := resources()[ref.Kind]
	if !ok {
		return fmt.Errorf("objects of kind %s are not supported", ref.Kind)
	}
	return s.tracker.Delete(resource, ref.Namespace, ref.Name)
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
