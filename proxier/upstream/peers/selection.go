package peers

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const labelServiceProxyName = "service.kubernetes.io/service-proxy-name"

// FollowsService says whether a Service is there and kube-proxy's server asks the API for it: it leaves out those with
// labelServiceProxyName and those without a cluster IP by wish.
func FollowsService(service *v1.Service) bool {
	return lacks(service, labelServiceProxyName) && service.Spec.ClusterIP != v1.ClusterIPNone
}

// FollowsSlice says the same of an EndpointSlice. Until v1.35 the label of another proxy counted on slices too.
func FollowsSlice(slice *discovery.EndpointSlice) bool {
	return lacks(slice, v1.IsHeadlessService) && (Minor >= 36 || !OfAnotherProxy(slice))
}

// OfAnotherProxy says whether an EndpointSlice carries labelServiceProxyName. This project's proxier leaves it alone, as
// https://kep.k8s.io/2447 has it.
func OfAnotherProxy(slice *discovery.EndpointSlice) bool {
	return slice != nil && !lacks(slice, labelServiceProxyName)
}

// BothFollow says whether a slice is there and both proxiers are told of it.
func BothFollow(slice *discovery.EndpointSlice) bool {
	return FollowsSlice(slice) && !OfAnotherProxy(slice)
}

// lacks says whether an object is there and lacks a label.
func lacks[T metav1.Object](object T, label string) bool {
	if reflect.ValueOf(object).IsNil() {
		return false
	}
	_, ok := object.GetLabels()[label]
	return !ok
}

// watched passes on what a watch tells that selects objects: one that it selects no longer has gone. Before is nil for one that comes,
// after for one that goes.
func watched[T any](before, after T, follows func(T) bool, add func(T), update func(before, after T), remove func(T)) {
	switch was, is := follows(before), follows(after); {
	case was && is:
		update(before, after)
	case was:
		remove(before)
	case is:
		add(after)
	}
}
