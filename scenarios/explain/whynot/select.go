package whynot

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// policies are the NetworkPolicies of a cluster, with the pods by their addresses and the namespaces by their names. What a policy means
// is as its API says (k8s.io/api/networking/v1).
type policies struct {
	all        []*networkingv1.NetworkPolicy
	pods       map[netip.Addr]*corev1.Pod
	namespaces map[string]*corev1.Namespace
}

// selecting are the policies for a direction that select a pod.
func (p *policies) selecting(e end) []*networkingv1.NetworkPolicy {
	var out []*networkingv1.NetworkPolicy
	for _, policy := range p.all {
		if policy.Namespace == e.pod.Namespace && slices.Contains(policy.Spec.PolicyTypes, e.direction) &&
			matches(&policy.Spec.PodSelector, e.pod.Labels) {
			out = append(out, policy)
		}
	}
	return out
}

// matches says whether a selector, which was checked when it was read, selects labels.
func matches(s *metav1.LabelSelector, own map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(own))
}

// allows says whether a policy that selects a pod lets a packet pass. Where that is open, it says what would have to be known.
func (p *policies) allows(policy *networkingv1.NetworkPolicy, e end) (allowed bool, open string) {
	check := func(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
		if !p.hasPort(ports, e) {
			return
		}
		if len(peers) == 0 {
			allowed = true
		}
		for i := range peers {
			named, why := p.names(policy, &peers[i], e.peer)
			allowed = allowed || named
			if why != "" {
				open = why
			}
		}
	}
	if e.direction == networkingv1.PolicyTypeEgress {
		for i := range policy.Spec.Egress {
			check(policy.Spec.Egress[i].To, policy.Spec.Egress[i].Ports)
		}
	} else {
		for i := range policy.Spec.Ingress {
			check(policy.Spec.Ingress[i].From, policy.Spec.Ingress[i].Ports)
		}
	}
	if allowed {
		open = ""
	}
	return allowed, open
}

// names says whether a peer of a policy is the other end of a packet.
func (p *policies) names(policy *networkingv1.NetworkPolicy, peer *networkingv1.NetworkPolicyPeer,
	other netip.Addr) (named bool, open string) {
	if peer.IPBlock != nil {
		return inBlock(peer.IPBlock, other), ""
	}
	pod := p.pods[other]
	if pod == nil || pod.Spec.HostNetwork || peer.PodSelector != nil && !matches(peer.PodSelector, pod.Labels) {
		return false, ""
	}
	if peer.NamespaceSelector == nil {
		return pod.Namespace == policy.Namespace, ""
	}
	return p.inNamespace(peer.NamespaceSelector, pod.Namespace)
}

// inNamespace says whether a selector selects a namespace. Of one that is not among the objects the name is known, which is a label of it.
func (p *policies) inNamespace(s *metav1.LabelSelector, namespace string) (selected bool, open string) {
	if n := p.namespaces[namespace]; n != nil {
		own := labels.Merge(labels.Set(n.Labels), labels.Set{corev1.LabelMetadataName: namespace})
		return matches(s, own), ""
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false, ""
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if r.Key() != corev1.LabelMetadataName {
			return false, "the labels of namespace " + namespace + " are not known: its Namespace is not among the objects"
		}
	}
	return selector.Matches(labels.Set{corev1.LabelMetadataName: namespace}), ""
}

func inBlock(b *networkingv1.IPBlock, a netip.Addr) bool {
	has := func(cidr string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		return err == nil && prefix.Contains(a)
	}
	return has(b.CIDR) && !slices.ContainsFunc(b.Except, has)
}

// hasPort says whether a rule's ports have the packet's; without any it has all, of every protocol.
func (p *policies) hasPort(ports []networkingv1.NetworkPolicyPort, e end) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(port networkingv1.NetworkPolicyPort) bool {
		if port.Protocol != nil && !strings.EqualFold(string(*port.Protocol), e.proto.String()) {
			return false
		}
		switch {
		case port.Port == nil:
			return true
		case port.Port.Type == intstr.String:
			return p.serves(e, port.Port.StrVal)
		case port.EndPort != nil:
			return int32(e.port) >= port.Port.IntVal && int32(e.port) <= *port.EndPort
		}
		return int32(e.port) == port.Port.IntVal
	})
}

// serves says whether the packet is for a port that the pod it goes to has under a name.
func (p *policies) serves(e end, name string) bool {
	pod := e.pod
	if e.direction == networkingv1.PolicyTypeEgress {
		pod = p.pods[e.peer]
	}
	return pod != nil && slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool {
			return port.Name == name && port.ContainerPort == int32(e.port) && strings.EqualFold(string(port.Protocol), e.proto.String())
		})
	})
}
