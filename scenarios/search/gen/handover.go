package gen

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// handOver gives a service to another proxy, or takes it back.
func (h *objectEvents) handOver() {
	s := h.anyService()
	if s == nil {
		return
	}
	s = s.DeepCopy()
	_, had := s.Labels[labelProxyName]
	s.Labels = nil
	if !had {
		s.Labels = map[string]string{labelProxyName: "another"}
	}
	h.course.apply(h.cluster.note(object(s)))
	h.mirror(s, labelProxyName, !had)
}

// headless takes the cluster IP from a service, or gives it one: what was in between, or that it was made anew, went unseen.
func (h *objectEvents) headless() {
	s := h.anyService()
	if s == nil {
		return
	}
	s = s.DeepCopy()
	becomes := s.Spec.ClusterIP != corev1.ClusterIPNone
	s.Spec.Type, s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ServiceTypeClusterIP, "", nil
	if becomes {
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
	if len(s.Spec.Ports) == 0 { // it was a name outside
		h.services.choosePorts(s)
	}
	h.services.complete(s)
	h.course.apply(h.cluster.note(object(s)))
	h.mirror(s, corev1.IsHeadlessService, becomes)
}

// mirror puts a label on the slices of a service, or takes it away, as the controller does, a while after the service has it or not
// any longer. Some slices have other owners.
func (h *objectEvents) mirror(s *corev1.Service, label string, has bool) {
	for _, slice := range h.cluster.slicesFor(s) {
		if h.in(1, 5) {
			continue
		}
		slice = slice.DeepCopy()
		slice.Labels = maps.Clone(slice.Labels)
		delete(slice.Labels, label)
		if has {
			slice.Labels[label] = ""
		}
		h.course.apply(h.cluster.note(object(slice)))
	}
}
