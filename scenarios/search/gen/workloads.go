package gen

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// workloads makes services together with their endpoints, and chooses among those that are there.
type workloads struct {
	mixture
	cluster  *cluster
	services *serviceMaker
	slices   *sliceMaker
}

// anyService is a service that is there, nil if there is none.
func (w *workloads) anyService() *corev1.Service {
	if len(w.cluster.services) == 0 {
		return nil
	}
	return pick(w.draw, w.cluster.services...)
}

// anySlice is a slice that is there, nil if there is none.
func (w *workloads) anySlice() *discoveryv1.EndpointSlice {
	if len(w.cluster.slices) == 0 {
		return nil
	}
	return pick(w.draw, w.cluster.slices...)
}

// withSlices makes a new service and its endpoints.
func (w *workloads) withSlices() []manifest.Object {
	s := w.services.newService()
	out := []manifest.Object{w.cluster.note(object(s))}
	for _, slice := range w.slices.slicesOf(s) {
		out = append(out, w.cluster.note(object(slice)))
	}
	return out
}
