package live

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
	"github.com/chainwalk/chainwalk/scenarios/users/anonymise"
)

// pruned are the services, endpoint slices and ranges of cluster IPs with no more than what decides about packets.
func (c *Cluster) pruned() ([]manifest.Object, error) {
	var out []manifest.Object
	add := func(o runtime.Object) error {
		object, err := manifest.New(o)
		out = append(out, object)
		return err
	}
	for _, service := range c.services() {
		if err := add(pruneService(service)); err != nil {
			return nil, err
		}
	}
	for _, slice := range c.slices() {
		if err := add(pruneSlice(slice)); err != nil {
			return nil, err
		}
	}
	for i := range c.Objects {
		if ranges, is := c.Objects[i].Object.(*networkingv1.ServiceCIDR); is {
			if err := add(&networkingv1.ServiceCIDR{ObjectMeta: meta(ranges), Spec: *ranges.Spec.DeepCopy()}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// meta is an object's name and the labels that somebody reads.
func meta(o metav1.Object, labels ...string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}
	for _, key := range labels {
		if value, ok := o.GetLabels()[key]; ok {
			metav1.SetMetaDataLabel(&out, key, value)
		}
	}
	return out
}

func pruneService(s *corev1.Service) *corev1.Service {
	out := &corev1.Service{ObjectMeta: meta(s, anonymise.LabelProxyName, corev1.IsHeadlessService)}
	out.Spec = *s.Spec.DeepCopy()
	out.Spec.Selector, out.Spec.IPFamilyPolicy, out.Spec.AllocateLoadBalancerNodePorts = nil, nil, nil
	out.Spec.LoadBalancerClass, out.Spec.TrafficDistribution, out.Spec.PublishNotReadyAddresses = nil, nil, false
	for i := range out.Spec.Ports {
		out.Spec.Ports[i].AppProtocol = nil
	}
	for _, ingress := range s.Status.LoadBalancer.Ingress {
		out.Status.LoadBalancer.Ingress = append(out.Status.LoadBalancer.Ingress,
			corev1.LoadBalancerIngress{IP: ingress.IP, Hostname: ingress.Hostname, IPMode: ingress.IPMode})
	}
	return out
}

func pruneSlice(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{ObjectMeta: meta(s, discoveryv1.LabelServiceName, anonymise.LabelProxyName), AddressType: s.AddressType}
	for i := range s.Ports {
		port := s.Ports[i].DeepCopy()
		port.AppProtocol = nil
		out.Ports = append(out.Ports, *port)
	}
	for i := range s.Endpoints {
		endpoint := s.Endpoints[i].DeepCopy()
		endpoint.TargetRef, endpoint.Hostname, endpoint.DeprecatedTopology = nil, nil, nil
		out.Endpoints = append(out.Endpoints, *endpoint)
	}
	return out
}
