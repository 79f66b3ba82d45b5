package manifest

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	netutils "k8s.io/utils/net"
)

// setDefaults fills in what the API server would have, for the fields that
// kube-proxy reads, so that a hand-written object means what it means in a cluster.
func setDefaults(o runtime.Object) {
	switch obj := o.(type) {
	case *corev1.Service:
		serviceDefaults(obj)
		ingressDefaults(obj)
	case *discoveryv1.EndpointSlice:
		sliceDefaults(obj)
	case *corev1.Pod:
		podDefaults(obj)
	case *networkingv1.NetworkPolicy:
		policyDefaults(&obj.Spec)
	}
}

// setNamespace fills in the namespace of an object whose kind has one.
func setNamespace(o Object) {
	if k := kindNamed(o.GetObjectKind().GroupVersionKind().Kind); k != nil && k.namespaced && o.Meta().GetNamespace() == "" {
		o.Meta().SetNamespace(metav1.NamespaceDefault)
	}
}

// policyDefaults say for which direction a policy is that does not: for packets to its pods, and for those from them if it has rules for
// them.
func policyDefaults(s *networkingv1.NetworkPolicySpec) {
	if len(s.PolicyTypes) == 0 {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(s.Egress) > 0 {
			s.PolicyTypes = append(s.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	tcp := corev1.ProtocolTCP
	protocols := func(ports []networkingv1.NetworkPolicyPort) {
		for i := range ports {
			if ports[i].Protocol == nil {
				ports[i].Protocol = &tcp
			}
		}
	}
	for i := range s.Ingress {
		protocols(s.Ingress[i].Ports)
	}
	for i := range s.Egress {
		protocols(s.Egress[i].Ports)
	}
}

// podDefaults make podIP and podIPs agree, and give ports their protocol, which named target ports are found by.
func podDefaults(pod *corev1.Pod) {
	s := &pod.Status
	if s.PodIP == "" && len(s.PodIPs) > 0 {
		s.PodIP = s.PodIPs[0].IP
	}
	if len(s.PodIPs) == 0 && s.PodIP != "" {
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				set(&containers[i].Ports[j].Protocol, corev1.ProtocolTCP)
			}
		}
	}
}

func serviceDefaults(svc *corev1.Service) {
	s := &svc.Spec
	set(&s.Type, corev1.ServiceTypeClusterIP)
	set(&s.SessionAffinity, corev1.ServiceAffinityNone)
	for i := range s.Ports {
		p := &s.Ports[i]
		set(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if s.SessionAffinity == corev1.ServiceAffinityClientIP {
		affinityDefaults(s)
	}
	if s.Type == corev1.ServiceTypeExternalName {
		return
	}
	if s.InternalTrafficPolicy == nil {
		s.InternalTrafficPolicy = pointer(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if s.Type != corev1.ServiceTypeClusterIP || len(s.ExternalIPs) > 0 {
		set(&s.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	addressDefaults(s)
}

// ingressDefaults sets the defaults of a load balancer's addresses.
func ingressDefaults(svc *corev1.Service) {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	for i := range svc.Status.LoadBalancer.Ingress {
		ingress := &svc.Status.LoadBalancer.Ingress[i]
		if ingress.IP != "" && ingress.IPMode == nil {
			ingress.IPMode = pointer(corev1.LoadBalancerIPModeVIP)
		}
	}
}

func affinityDefaults(s *corev1.ServiceSpec) {
	if s.SessionAffinityConfig == nil {
		s.SessionAffinityConfig = &corev1.SessionAffinityConfig{}
	}
	if s.SessionAffinityConfig.ClientIP == nil {
		s.SessionAffinityConfig.ClientIP = &corev1.ClientIPConfig{}
	}
	if s.SessionAffinityConfig.ClientIP.TimeoutSeconds == nil {
		s.SessionAffinityConfig.ClientIP.TimeoutSeconds = pointer(corev1.DefaultClientIPServiceAffinitySeconds)
	}
}

// addressDefaults makes clusterIP, clusterIPs and ipFamilies agree.
func addressDefaults(s *corev1.ServiceSpec) {
	if s.ClusterIP == "" && len(s.ClusterIPs) > 0 {
		s.ClusterIP = s.ClusterIPs[0]
	}
	if len(s.ClusterIPs) == 0 && s.ClusterIP != "" {
		s.ClusterIPs = []string{s.ClusterIP}
	}
	if len(s.IPFamilies) > 0 {
		return
	}
	for _, ip := range s.ClusterIPs {
		switch {
		case ip == corev1.ClusterIPNone:
		case netutils.IsIPv6(netutils.ParseIPSloppy(ip)):
			s.IPFamilies = append(s.IPFamilies, corev1.IPv6Protocol)
		default:
			s.IPFamilies = append(s.IPFamilies, corev1.IPv4Protocol)
		}
	}
}

func sliceDefaults(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Ports {
		p := &slice.Ports[i]
		if p.Name == nil {
			p.Name = pointer("")
		}
		if p.Protocol == nil {
			p.Protocol = pointer(corev1.ProtocolTCP)
		}
	}
}

func set[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

func pointer[T any](v T) *T { return &v }
