package manifest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// SliceController makes the EndpointSlices of services that select pods. It knows the objects as they are now, and the slices that it has
// made. Package controller has Kubernetes' own, which brings client-go along: who reads objects alone does without.
type SliceController interface {
	// Apply takes objects that are new or changed.
	Apply(objects []Object) (Change, error)
	// Delete takes objects that are gone.
	Delete(refs []Ref) (Change, error)
	// Clone is a controller of its own that knows and has made the same.
	Clone() SliceController
}

// NewSliceController makes an empty controller, for a cluster that has these objects at some time.
type NewSliceController func(ever []Object) SliceController

// Change is what a controller does to its objects: those that are new or others now, and those that are gone.
type Change struct {
	Apply  []Object
	Delete []Ref
}

// SelectsPods reports whether an object is a service that a controller makes slices of, if they are not written.
func SelectsPods(o Object) bool {
	service, ok := o.Object.(*corev1.Service)
	return ok && service.Spec.Selector != nil && service.Spec.Type != corev1.ServiceTypeExternalName
}

// ServicesOfSlices are the services whose slices are among the objects.
func ServicesOfSlices(objects []Object) map[Ref]bool {
	out := map[Ref]bool{}
	for _, o := range objects {
		slice, ok := o.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		if service := slice.Labels[discoveryv1.LabelServiceName]; service != "" {
			out[Ref{Kind: "Service", Namespace: slice.Namespace, Name: service}] = true
		}
	}
	return out
}

// NeedController reports whether a controller has slices to make, where objects are there at some time: of a service with a selector, whose
// slices are not among them, and of pods.
func NeedController(ever []Object) bool {
	if !slices.ContainsFunc(ever, func(o Object) bool { _, is := o.Object.(*corev1.Pod); return is }) {
		return false
	}
	written := ServicesOfSlices(ever)
	return slices.ContainsFunc(ever, func(o Object) bool { return SelectsPods(o) && !written[o.Ref()] })
}
