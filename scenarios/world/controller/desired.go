package controller

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/endpointslice/trafficdist"
	sliceutil "k8s.io/endpointslice/util"
	utilnet "k8s.io/utils/net"
)

// desired are the slices that Kubernetes' controller (Reconciler of k8s.io/endpointslice) makes of a service that has none, without names.
// TestAsKubernetes holds them against its own. An error names the pods whose Node is missing.
func (c *controller) desired(service *corev1.Service) (made []*discoveryv1.EndpointSlice, err error) {
	var pods []*corev1.Pod
	for _, name := range slices.SortedFunc(maps.Keys(c.pods), compareNames) {
		pod := c.pods[name]
		if pod.Namespace == service.Namespace && selected(service, pod) && sliceutil.ShouldPodBeInEndpoints(pod, true) {
			pods = append(pods, pod)
		}
	}
	if err := c.lackingNodes(service, pods); err != nil {
		return nil, err
	}
	if service.DeletionTimestamp != nil {
		return nil, nil
	}
	for _, family := range addressTypes(service) {
		made = append(made, c.ofFamily(service, pods, family)...)
	}
	distribution := service.Spec.TrafficDistribution
	if topologyAware(service.Annotations) {
		distribution = nil // the controller's cache of zones, which nobody has here, would give the hints
	}
	trafficdist.ReconcileHints(distribution, made, nil, nil)
	return made, nil
}

// lackingNodes is an error for each pod whose Node is not there. A service that publishes whatever is not ready takes these too.
func (c *controller) lackingNodes(service *corev1.Service, pods []*corev1.Pod) error {
	if service.Spec.PublishNotReadyAddresses {
		return nil
	}
	var errs []error
	for _, pod := range pods {
		if c.nodes[pod.Spec.NodeName] == nil {
			errs = append(errs, fmt.Errorf("skipping Pod %s for Service %s/%s: Node %s Not Found", pod.Name, service.Namespace, service.Name,
				pod.Spec.NodeName))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// topologyAware reports whether a service asks for hints by the older annotations, which go before its traffic distribution.
func topologyAware(annotations map[string]string) bool {
	mode, ok := annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	if !ok {
		mode = annotations[corev1.AnnotationTopologyMode]
	}
	return mode == "Auto" || mode == "auto"
}

// addressTypes are the types for a service's families; if it names none, for the family of its cluster IP; without one, both.
func addressTypes(service *corev1.Service) (types []discoveryv1.AddressType) {
	of := map[corev1.IPFamily]discoveryv1.AddressType{
		corev1.IPv4Protocol: discoveryv1.AddressTypeIPv4, corev1.IPv6Protocol: discoveryv1.AddressTypeIPv6,
	}
	for _, family := range service.Spec.IPFamilies {
		if t, ok := of[family]; ok {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	switch {
	case len(types) > 0:
		return slices.Compact(types)
	case !hasClusterIP(service):
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	case utilnet.IsIPv6String(service.Spec.ClusterIP):
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv6}
	}
	return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4}
}

func hasClusterIP(service *corev1.Service) bool {
	return service.Spec.ClusterIP != "" && service.Spec.ClusterIP != corev1.ClusterIPNone
}

// ofFamily are a service's slices of one family: one for each way in which its ports have numbers on its pods, and an empty one if there is
// no endpoint.
func (c *controller) ofFamily(service *corev1.Service, pods []*corev1.Pod, family discoveryv1.AddressType) []*discoveryv1.EndpointSlice {
	var made []*discoveryv1.EndpointSlice
	byPorts := map[sliceutil.PortMapKey]*discoveryv1.EndpointSlice{}
	for _, pod := range pods {
		endpoint := c.endpoint(service, pod, family)
		if len(endpoint.Addresses) == 0 {
			continue
		}
		ports := portsOn(service, pod)
		key := sliceutil.NewPortMapKey(ports)
		slice := byPorts[key]
		if slice == nil || len(slice.Endpoints) == maxEndpoints {
			slice = emptySlice(service, family, ports)
			byPorts[key] = slice
			made = append(made, slice)
		}
		slice.Endpoints = append(slice.Endpoints, endpoint)
	}
	if len(made) == 0 {
		made = append(made, emptySlice(service, family, []discoveryv1.EndpointPort{}))
	}
	return made
}

// emptySlice has the labels of its service, but for those that say of slices whose they are.
func emptySlice(service *corev1.Service, family discoveryv1.AddressType, ports []discoveryv1.EndpointPort) *discoveryv1.EndpointSlice {
	labels := map[string]string{}
	maps.Copy(labels, service.Labels)
	delete(labels, corev1.IsHeadlessService)
	if !hasClusterIP(service) {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = service.Name, Name
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: service.Namespace, Labels: labels},
		AddressType: family, Ports: ports, Endpoints: []discoveryv1.Endpoint{},
	}
}

// endpoint is a pod as an endpoint of a service, with its addresses of one family, of which it may have none.
func (c *controller) endpoint(service *corev1.Service, pod *corev1.Pod, family discoveryv1.AddressType) discoveryv1.Endpoint {
	serving, terminating := sliceutil.IsPodReady(pod), pod.DeletionTimestamp != nil
	ready := service.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	for _, one := range pod.Status.PodIPs {
		ip := utilnet.ParseIPSloppy(one.IP)
		if utilnet.IsIPv6(ip) == (family == discoveryv1.AddressTypeIPv6) {
			e.Addresses = append(e.Addresses, ip.String())
		}
	}
	slices.Sort(e.Addresses)
	if pod.Spec.NodeName != "" {
		e.NodeName = &pod.Spec.NodeName
	}
	if node := c.nodes[pod.Spec.NodeName]; node != nil && node.Labels[corev1.LabelTopologyZone] != "" {
		zone := node.Labels[corev1.LabelTopologyZone]
		e.Zone = &zone
	}
	if sliceutil.ShouldSetHostname(pod, service) {
		e.Hostname = &pod.Spec.Hostname
	}
	return e
}

// portsOn are the ports of a service with their numbers on a pod. A name that no container of the pod has leaves its port out.
func portsOn(service *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	ports := []discoveryv1.EndpointPort{}
	for _, p := range service.Spec.Ports {
		if number, ok := numberOn(pod, p); ok {
			ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &number, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
		}
	}
	return ports
}

// numberOn finds the number of a target port that is a name: in the containers first, then in sidecars (KEP 753).
func numberOn(pod *corev1.Pod, p corev1.ServicePort) (int32, bool) {
	if p.TargetPort.Type == intstr.Int {
		return int32(p.TargetPort.IntValue()), true
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, one := range pod.Spec.InitContainers {
		if one.RestartPolicy != nil && *one.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, one)
		}
	}
	for _, one := range containers {
		for _, port := range one.Ports {
			if port.Name == p.TargetPort.StrVal && port.Protocol == p.Protocol {
				return port.ContainerPort, true
			}
		}
	}
	return 0, false
}
