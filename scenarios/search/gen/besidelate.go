package gen

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// late adds what happens to services at the end, and services that want one address.
func (b *beside) late() {
	if b.in(1, 6) {
		b.rivals()
	}
	without := b.options.Without
	if !without.Has(Affinity) && b.in(1, 6) {
		b.otherTimeouts()
	}
	if !without.Has(RestoreFails) && b.in(1, 6) {
		b.failDeletion()
	}
}

// beforeLast adds steps that all others but the last one come before. What they change of objects is as it is in the end.
func (b *beside) beforeLast(steps ...scenarios.Step) {
	b.out.Steps = slices.Insert(b.out.Steps, len(b.out.Steps)-1, steps...)
}

// What rivals have: numbers of addresses that nobody else has.
const (
	firstRivalIP    = 240
	firstRivalPod   = 120
	rivalExternalIP = 8
)

// rivals adds services that all claim one external address and port, or that of a load balancer, in the order of their names or not: some
// are there at first, the others come while kube-proxy runs, and one goes, or loses its endpoint.
func (b *beside) rivals() {
	family := pick(b.draw, b.cluster.families...)
	balanced, count := b.in(1, 2), 2+b.below(2)
	var events []scenarios.Step
	var all [][]manifest.Object
	for i := range count {
		s, slice := b.rival(family, i, balanced)
		all = append(all, []manifest.Object{object(s), object(slice)})
	}
	for i := range all {
		if i > 0 && b.in(1, 2) {
			all[0], all[i] = all[i], all[0] // the first one comes later
		}
	}
	b.out.Objects = append(b.out.Objects, all[0]...)
	for _, one := range all[1:] {
		events = append(events, scenarios.Step{Apply: one})
	}
	gone := pick(b.draw, all...)
	if b.in(2, 3) {
		events = append(events, scenarios.Step{Delete: []scenarios.Ref{{Ref: gone[0].Ref()}}})
		if b.in(1, 2) {
			events = append(events, scenarios.Step{Apply: gone[:1]})
		}
	} else {
		events = append(events, scenarios.Step{Delete: []scenarios.Ref{{Ref: gone[1].Ref()}}})
	}
	at := 0
	for _, e := range events {
		at += b.below(len(b.out.Steps) - at)
		b.out.Steps = slices.Insert(b.out.Steps, at, e)
		at++
	}
}

// rival is one of them, with its only endpoint.
func (b *beside) rival(family corev1.IPFamily, i int, balanced bool) (*corev1.Service, *discoveryv1.EndpointSlice) {
	name, ip, on := fmt.Sprintf("rival-%d", i), serviceIP(family, firstRivalIP+i), pick(b.draw, b.cluster.nodes...)
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: ip, ClusterIPs: []string{ip}, IPFamilies: []corev1.IPFamily{family},
			Ports:                 []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80}},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyCluster),
			SessionAffinity:       corev1.ServiceAffinityNone,
		},
	}
	if balanced {
		s.Spec.Type, s.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, ptr.To(false)
		s.Spec.LoadBalancerSourceRanges = []string{neighbourhoods[family]}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: balancerIP(family, rivalExternalIP)}}
	} else {
		s.Spec.ExternalIPs = []string{externalIP(family, rivalExternalIP)}
	}
	return s, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressType(family),
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(""), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{podAddress(family, on.number, firstRivalPod+i)}, NodeName: &on.name,
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}},
	}
}

// served is a service that has addresses and ports in the end, nil if there is none.
func (b *beside) served() *corev1.Service {
	all := slices.DeleteFunc(slices.Clone(b.cluster.services), func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeExternalName || s.Spec.ClusterIP == corev1.ClusterIPNone || len(s.Spec.Ports) == 0
	})
	if len(all) == 0 {
		return nil
	}
	return pick(b.draw, all...).DeepCopy()
}

// otherTimeouts has clients stick to endpoints for some time, and then for another one.
func (b *beside) otherTimeouts() {
	s := b.served()
	if s == nil {
		return
	}
	s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	if b.in(1, 2) {
		s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	}
	for _, seconds := range []int32{pick(b.draw, int32(10800), 30), pick(b.draw, int32(40), 86400)} {
		s = s.DeepCopy()
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		b.beforeLast(scenarios.Step{Apply: scenarios.Objects{b.cluster.note(object(s))}})
	}
}

// failDeletion has a service go, and the deletion of its chains fail, which comes some time later.
func (b *beside) failDeletion() {
	s := b.served()
	if s == nil {
		return
	}
	b.cluster.forgetService(s)
	b.beforeLast(scenarios.Step{Delete: []scenarios.Ref{{Ref: object(s).Ref()}}}, scenarios.Step{Fault: &scenarios.Fault{RestoreFails: 1}},
		wait(2*time.Second), wait(2*time.Second))
	if b.in(1, 2) {
		b.beforeLast(wait(syncPeriod))
	}
}

func wait(d time.Duration) scenarios.Step {
	return scenarios.Step{Advance: &metav1.Duration{Duration: d}}
}
