package gen

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// kube-proxy takes a cluster for a large one from 1,000 endpoints on, and counts those of
// each service port. These many ports and pods are just above, or below by so much that twice as many are above, and cost a judge little.
const (
	bigPorts = 15
	bigPods  = 68
	fewPods  = 60
	firstBig = 130 // among the numbers of addresses, above those of other pods
	bigName  = "big"
)

// big makes the cluster a large one, or nearly.
func (w *workloads) big() []manifest.Object {
	family := w.cluster.families[0]
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: bigName},
		Spec:       corev1.ServiceSpec{ClusterIP: serviceIP(family, 250)},
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: bigName, Labels: map[string]string{discoveryv1.LabelServiceName: bigName},
		},
		AddressType: discoveryv1.AddressType(family),
	}
	for i := range bigPorts {
		name := fmt.Sprintf("p%d", i)
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(1000 + i)})
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &name, Port: ptr.To(int32(2000 + i))})
	}
	for i := range pick(w.draw, bigPods, fewPods) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{podAddress(family, 1, firstBig+i)}, NodeName: &w.cluster.nodes[0].name,
		})
	}
	return []manifest.Object{w.cluster.note(object(s)), w.cluster.note(object(slice))}
}

// portsOfMany is how many ports a service may have that nobody serves, as a cluster with many services has ports.
const portsOfMany = 60

// manyPorts makes a service that has only cluster IPs, many ports, and no endpoints yet.
func (w *workloads) manyPorts() manifest.Object {
	family := w.cluster.families[0]
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "many"},
		Spec:       corev1.ServiceSpec{ClusterIP: serviceIP(family, 249)},
	}
	for i := range portsOfMany {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(1000 + i)})
	}
	return w.cluster.note(object(s))
}

// changeBig changes an endpoint of the service that has so many.
func (h *objectEvents) changeBig() {
	i := slices.IndexFunc(h.cluster.slices, func(s *discoveryv1.EndpointSlice) bool { return s.Name == bigName })
	if i < 0 {
		return
	}
	slice := h.cluster.slices[i].DeepCopy()
	h.slices.changeEndpoints(slice)
	h.course.apply(h.cluster.note(object(slice)))
}

// resize makes the cluster a large one, or one no longer.
func (h *objectEvents) resize() {
	i := slices.IndexFunc(h.cluster.services, func(s *corev1.Service) bool { return s.Name == bigName })
	if i < 0 {
		h.course.apply(h.big()...)
		h.changeSlice()
		return
	}
	s := h.cluster.services[i]
	owned := h.cluster.slicesFor(s)
	h.cluster.forgetService(s)
	for _, slice := range owned {
		h.cluster.forgetSlice(slice)
	}
	h.course.remove(append([]manifest.Object{object(s)}, sliceObjects(owned...)...)...)
	h.changeSlice()
}
