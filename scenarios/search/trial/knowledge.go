package trial

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/chainwalk/chainwalk/scenarios/world/api"
)

// Objects are shared and never changed, so that two views that know the same of an object
// have the same pointer.

// sameServices reports whether two proxiers know the same of services, and of the ranges of their cluster IPs.
func sameServices(a, b *api.Knowledge) bool {
	return a == b || slices.Equal(a.Services, b.Services) && slices.Equal(a.Slices, b.Slices) && slices.Equal(a.ServiceCIDRs, b.ServiceCIDRs)
}

// view is what a proxier knows, and how it is configured.
type view struct {
	*api.Knowledge
	config *kubeproxyconfig.KubeProxyConfiguration
	// started is the Node object as it was when the proxier started.
	started *corev1.Node
	// found are the addresses that the proxier found on its node.
	found []netip.Addr
}

// sameNode reports whether both know the same of their node.
func (v *view) sameNode(o *view) bool {
	return v.Node == o.Node && v.config == o.config && slices.Equal(v.found, o.found)
}

// sameRanges reports whether both know the same ranges of cluster IPs.
func (v *view) sameRanges(o *view) bool { return slices.Equal(v.ServiceCIDRs, o.ServiceCIDRs) }

// same reports whether both know the same.
func (v *view) same(o *view) bool { return v.sameNode(o) && sameServices(v.Knowledge, o.Knowledge) }

// changed are the services that two views know something else of, in the order of names.
func changed(a, b *api.Knowledge) []types.NamespacedName {
	return changedBut(a, b, func(a, b *corev1.Service) bool { return a == b }, func(a, b *discoveryv1.EndpointSlice) bool { return a == b })
}

// changedInMeaning are the changed services about which a proxier must know something else. It ignores words for others, such as
// annotations, and slices without endpoints.
func changedInMeaning(a, b *api.Knowledge) []types.NamespacedName {
	return changedBut(withEndpoints(a), withEndpoints(b), sameService, sameSlice)
}

// withEndpoints is what a view knows but for slices that hold no endpoint.
func withEndpoints(v *api.Knowledge) *api.Knowledge {
	if !slices.ContainsFunc(v.Slices, isEmpty) {
		return v
	}
	out := *v
	out.Slices = slices.DeleteFunc(slices.Clone(v.Slices), isEmpty)
	return &out
}

func isEmpty(s *discoveryv1.EndpointSlice) bool { return len(s.Endpoints) == 0 }

func sameService(a, b *corev1.Service) bool {
	return a == b || equality.Semantic.DeepEqual(&a.Spec, &b.Spec) &&
		equality.Semantic.DeepEqual(&a.Status.LoadBalancer, &b.Status.LoadBalancer) &&
		maps.Equal(a.Labels, b.Labels)
}

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return a == b || a.AddressType == b.AddressType && maps.Equal(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Ports, b.Ports) &&
		equality.Semantic.DeepEqual(a.Endpoints, b.Endpoints)
}

// changedBut are the services of which two views do not know the same.
func changedBut(a, b *api.Knowledge, sameService func(a, b *corev1.Service) bool,
	sameSlice func(a, b *discoveryv1.EndpointSlice) bool) []types.NamespacedName {
	var out []types.NamespacedName
	eachDifference(a.Services, b.Services, sameService, func(s *corev1.Service) {
		out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	})
	eachDifference(a.Slices, b.Slices, sameSlice, func(s *discoveryv1.EndpointSlice) {
		out = append(out, types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]})
	})
	slices.SortFunc(out, compareNames)
	return slices.Compact(out)
}

// eachDifference calls a function for every object of two lists, sorted by name, that is not in both as it is.
func eachDifference[T metav1.Object](a, b []T, same func(a, b T) bool, different func(T)) {
	for len(a) > 0 || len(b) > 0 {
		switch order := compareFirst(a, b); {
		case order < 0:
			different(a[0])
			a = a[1:]
		case order > 0:
			different(b[0])
			b = b[1:]
		default:
			if !same(a[0], b[0]) {
				different(a[0])
				different(b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
}

func compareFirst[T metav1.Object](a, b []T) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Or(cmp.Compare(a[0].GetNamespace(), b[0].GetNamespace()), cmp.Compare(a[0].GetName(), b[0].GetName()))
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// affine reports whether a service is known to have session affinity.
func affine(v *view, service types.NamespacedName) bool {
	return slices.ContainsFunc(v.Services, func(s *corev1.Service) bool {
		return s.Namespace == service.Namespace && s.Name == service.Name && s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
	})
}
