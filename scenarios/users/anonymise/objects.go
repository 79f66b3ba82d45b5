package anonymise

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// objectRenamer makes other objects of Kubernetes.
type objectRenamer struct{ *Renamer }

// objects are others in the place of some. A ConfigMap that is not kube-proxy's is left out.
func (r objectRenamer) objects(old []manifest.Object) ([]manifest.Object, error) {
	var out []manifest.Object
	for _, o := range old {
		other, err := r.object(o)
		if err != nil {
			return nil, err
		}
		if other == nil {
			continue
		}
		object, err := manifest.New(other)
		if err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

// object is another one in the place of one; nil for one that says nothing of packets.
func (r objectRenamer) object(o manifest.Object) (runtime.Object, error) {
	switch o := o.Object.(type) {
	case *corev1.Service:
		return r.service(o), nil
	case *discoveryv1.EndpointSlice:
		return r.slice(o), nil
	case *corev1.Node:
		return r.node(o), nil
	case *corev1.Pod:
		return r.pod(o), nil
	case *corev1.Namespace:
		out := &corev1.Namespace{ObjectMeta: r.meta(&o.ObjectMeta)}
		out.Name = r.Namespace(o.Name)
		return out, nil
	case *networkingv1.NetworkPolicy:
		return r.policy(o), nil
	case *networkingv1.ServiceCIDR:
		out := &networkingv1.ServiceCIDR{ObjectMeta: r.meta(&o.ObjectMeta), Spec: networkingv1.ServiceCIDRSpec{CIDRs: r.Texts(o.Spec.CIDRs)}}
		out.Name = r.Name("servicecidr", o.Name)
		return out, nil
	case *corev1.ConfigMap:
		return r.configMap(o)
	}
	return nil, fmt.Errorf("%s: %s: objects of this kind cannot be anonymised: leave it out", o.Pos, o.Ref())
}

// Service is another service in the place of one: a new object.
func (r *Renamer) Service(old *corev1.Service) *corev1.Service { return objectRenamer{r}.service(old) }

func (r objectRenamer) service(old *corev1.Service) *corev1.Service {
	out := &corev1.Service{ObjectMeta: r.meta(&old.ObjectMeta)}
	out.Name = r.ServiceName(old.Namespace, old.Name)
	from, to := &old.Spec, &out.Spec
	to.Type, to.SessionAffinity = from.Type, from.SessionAffinity
	to.ClusterIP = r.clusterIP(from.ClusterIP)
	for _, ip := range from.ClusterIPs {
		to.ClusterIPs = append(to.ClusterIPs, r.clusterIP(ip))
	}
	to.ExternalIPs, to.LoadBalancerSourceRanges = r.Texts(from.ExternalIPs), r.Texts(from.LoadBalancerSourceRanges)
	to.LoadBalancerIP = r.Text(from.LoadBalancerIP)
	to.IPFamilies = slices.DeleteFunc(slices.Clone(from.IPFamilies), func(f corev1.IPFamily) bool {
		return f != corev1.IPv4Protocol && f != corev1.IPv6Protocol
	})
	to.IPFamilyPolicy = keptp(from.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack,
		corev1.IPFamilyPolicyRequireDualStack)
	to.TrafficDistribution = keptp(from.TrafficDistribution, "PreferClose", "PreferSameZone", "PreferSameNode")
	to.InternalTrafficPolicy, to.ExternalTrafficPolicy = from.InternalTrafficPolicy, from.ExternalTrafficPolicy
	to.HealthCheckNodePort, to.PublishNotReadyAddresses = from.HealthCheckNodePort, from.PublishNotReadyAddresses
	to.AllocateLoadBalancerNodePorts = from.AllocateLoadBalancerNodePorts
	to.Selector = r.labels("", from.Selector)
	if affinity := from.SessionAffinityConfig; affinity != nil && affinity.ClientIP != nil {
		to.SessionAffinityConfig = &corev1.SessionAffinityConfig{
			ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: affinity.ClientIP.TimeoutSeconds},
		}
	}
	if from.ExternalName != "" {
		to.ExternalName = r.Name("external", from.ExternalName) + ".invalid"
	}
	for i := range from.Ports {
		p := &from.Ports[i]
		to.Ports = append(to.Ports, corev1.ServicePort{
			Name: r.Name("port", p.Name), Protocol: p.Protocol, Port: p.Port, TargetPort: r.port(p.TargetPort), NodePort: p.NodePort,
		})
	}
	for i := range old.Status.LoadBalancer.Ingress {
		in := &old.Status.LoadBalancer.Ingress[i]
		ingress := corev1.LoadBalancerIngress{IP: r.Text(in.IP), IPMode: in.IPMode}
		if in.Hostname != "" {
			ingress.Hostname = r.Name("balancer", in.Hostname) + ".invalid"
		}
		out.Status.LoadBalancer.Ingress = append(out.Status.LoadBalancer.Ingress, ingress)
	}
	return out
}

// clusterIP is another one; that of a headless service stays None.
func (r objectRenamer) clusterIP(old string) string {
	if old == corev1.ClusterIPNone {
		return old
	}
	return r.Text(old)
}

// port is a port by its number, or by its new name.
func (r objectRenamer) port(old intstr.IntOrString) intstr.IntOrString {
	if old.Type == intstr.String {
		old.StrVal = r.Name("port", old.StrVal)
	}
	return old
}

// kept is a word if it is one of some; empty for any other.
func kept[T ~string](word T, known ...T) T {
	if slices.Contains(known, word) {
		return word
	}
	return ""
}

// keptp is kept for a field that may be missing.
func keptp[T ~string](word *T, known ...T) *T {
	if word == nil || !slices.Contains(known, *word) {
		return nil
	}
	return ptr.To(*word)
}

// Slice is another endpoint slice in the place of one: a new object.
func (r *Renamer) Slice(old *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	return objectRenamer{r}.slice(old)
}

func (r objectRenamer) slice(old *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{ObjectMeta: r.meta(&old.ObjectMeta), AddressType: old.AddressType}
	out.Name = r.Name("slice", old.Namespace+"/"+old.Name)
	for i := range old.Ports {
		p := &old.Ports[i]
		out.Ports = append(out.Ports, discoveryv1.EndpointPort{Name: r.Namep("port", p.Name), Protocol: p.Protocol, Port: p.Port})
	}
	for i := range old.Endpoints {
		from := &old.Endpoints[i]
		e := discoveryv1.Endpoint{
			Addresses: r.Texts(from.Addresses), Conditions: from.Conditions, NodeName: r.Namep("node", from.NodeName),
			Zone: r.Namep("zone", from.Zone),
		}
		if old.AddressType == discoveryv1.AddressTypeFQDN {
			e.Addresses = []string{"endpoint.invalid"}
		}
		if ref := from.TargetRef; ref != nil && ref.Kind == "Pod" {
			e.TargetRef = &corev1.ObjectReference{Kind: ref.Kind}
			e.TargetRef.Namespace, e.TargetRef.Name = r.Pod(ref.Namespace, ref.Name)
		}
		if from.Hints != nil {
			e.Hints = &discoveryv1.EndpointHints{}
			for _, zone := range from.Hints.ForZones {
				e.Hints.ForZones = append(e.Hints.ForZones, discoveryv1.ForZone{Name: r.Name("zone", zone.Name)})
			}
			for _, node := range from.Hints.ForNodes {
				e.Hints.ForNodes = append(e.Hints.ForNodes, discoveryv1.ForNode{Name: r.Name("node", node.Name)})
			}
		}
		out.Endpoints = append(out.Endpoints, e)
	}
	return out
}

func (r objectRenamer) node(old *corev1.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: r.meta(&old.ObjectMeta)}
	out.Name = r.Name("node", old.Name)
	out.Spec.PodCIDRs = r.Texts(old.Spec.PodCIDRs)
	if old.Spec.PodCIDR != "" {
		out.Spec.PodCIDR = r.Text(old.Spec.PodCIDR)
	}
	for _, a := range old.Status.Addresses {
		other := corev1.NodeAddress{Type: a.Type}
		switch a.Type {
		case corev1.NodeInternalIP, corev1.NodeExternalIP:
			other.Address = r.Text(a.Address)
		case corev1.NodeHostName, corev1.NodeInternalDNS, corev1.NodeExternalDNS:
			other.Address = r.Name("node", a.Address)
		default:
			continue
		}
		out.Status.Addresses = append(out.Status.Addresses, other)
	}
	return out
}

func (r objectRenamer) pod(old *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: r.meta(&old.ObjectMeta)}
	_, out.Name = r.Pod(old.Namespace, old.Name)
	out.Spec.NodeName, out.Spec.HostNetwork = r.Name("node", old.Spec.NodeName), old.Spec.HostNetwork
	out.Spec.Containers, out.Spec.InitContainers = r.containers(old.Spec.Containers), r.containers(old.Spec.InitContainers)
	from, to := &old.Status, &out.Status
	to.Phase = kept(from.Phase, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown)
	to.PodIP, to.HostIP = r.Text(from.PodIP), r.Text(from.HostIP)
	for _, ip := range from.PodIPs {
		to.PodIPs = append(to.PodIPs, corev1.PodIP{IP: r.Text(ip.IP)})
	}
	for _, c := range from.Conditions {
		if kept(c.Type, corev1.PodReady, corev1.ContainersReady, corev1.PodInitialized, corev1.PodScheduled) != "" {
			to.Conditions = append(to.Conditions, corev1.PodCondition{
				Type: c.Type, Status: kept(c.Status, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
			})
		}
	}
	return out
}

// containers are others with the same ports.
func (r objectRenamer) containers(old []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range old {
		c := corev1.Container{
			Name:          r.Name("container", old[i].Name),
			RestartPolicy: keptp(old[i].RestartPolicy, corev1.ContainerRestartPolicyAlways),
		}
		for _, p := range old[i].Ports {
			c.Ports = append(c.Ports, corev1.ContainerPort{
				Name: r.Name("port", p.Name), ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIP: r.Text(p.HostIP),
				Protocol: kept(p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
			})
		}
		out = append(out, c)
	}
	return out
}

func (r objectRenamer) policy(old *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	out := &networkingv1.NetworkPolicy{ObjectMeta: r.meta(&old.ObjectMeta)}
	_, out.Name = r.Policy(old.Namespace, old.Name)
	out.Spec.PodSelector, out.Spec.PolicyTypes = *r.selector(&old.Spec.PodSelector), old.Spec.PolicyTypes
	for i := range old.Spec.Ingress {
		rule := &old.Spec.Ingress[i]
		out.Spec.Ingress = append(out.Spec.Ingress,
			networkingv1.NetworkPolicyIngressRule{From: r.peers(rule.From), Ports: r.policyPorts(rule.Ports)})
	}
	for i := range old.Spec.Egress {
		rule := &old.Spec.Egress[i]
		out.Spec.Egress = append(out.Spec.Egress,
			networkingv1.NetworkPolicyEgressRule{To: r.peers(rule.To), Ports: r.policyPorts(rule.Ports)})
	}
	return out
}

func (r objectRenamer) peers(old []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for i := range old {
		peer := networkingv1.NetworkPolicyPeer{
			PodSelector: r.selector(old[i].PodSelector), NamespaceSelector: r.selector(old[i].NamespaceSelector),
		}
		if block := old[i].IPBlock; block != nil {
			peer.IPBlock = &networkingv1.IPBlock{CIDR: r.Text(block.CIDR), Except: r.Texts(block.Except)}
		}
		out = append(out, peer)
	}
	return out
}

func (r objectRenamer) policyPorts(old []networkingv1.NetworkPolicyPort) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, p := range old {
		port := networkingv1.NetworkPolicyPort{
			Protocol: keptp(p.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP), EndPort: p.EndPort,
		}
		if p.Port != nil {
			port.Port = ptr.To(r.port(*p.Port))
		}
		out = append(out, port)
	}
	return out
}
