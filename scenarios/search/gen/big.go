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

// bigService makes the cluster a large one, or nearly.
func (g *generator) bigService() []manifest.Object {
	family := g.families[0]
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
	for i := range pick(&g.draw, bigPods, fewPods) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{podAddress(family, 1, firstBig+i)}, NodeName: &g.nodes[0].name,
		})
	}
	return []manifest.Object{g.note(object(s)), g.note(object(slice))}
}

// manyPorts is how many ports a service may have that nobody serves, as a cluster with many services has ports.
const manyPorts = 60

// serviceOfManyPorts makes a service that has only cluster IPs, many ports, and no endpoints yet.
func (g *generator) serviceOfManyPorts() *corev1.Service {
	family := g.families[0]
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "many"},
		Spec:       corev1.ServiceSpec{ClusterIP: serviceIP(family, 249)},
	}
	for i := range manyPorts {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(1000 + i)})
	}
	return s
}

// changeBig changes an endpoint of the service that has so many.
func (g *generator) changeBig() {
	i := slices.IndexFunc(g.slices, func(s *discoveryv1.EndpointSlice) bool { return s.Name == bigName })
	if i < 0 {
		return
	}
	slice := g.slices[i].DeepCopy()
	g.changeEndpoints(slice)
	g.apply(g.note(object(slice)))
}

// resize makes the cluster a large one, or one no longer.
func (g *generator) resize() {
	i := slices.IndexFunc(g.services, func(s *corev1.Service) bool { return s.Name == bigName })
	if i < 0 {
		g.apply(g.bigService()...)
		g.changeSlice()
		return
	}
	s := g.services[i]
	owned := g.slicesFor(s)
	g.forgetService(s)
	for _, slice := range owned {
		g.forgetSlice(slice)
	}
	g.remove(append([]manifest.Object{object(s)}, sliceObjects(owned...)...)...)
	g.changeSlice()
}
