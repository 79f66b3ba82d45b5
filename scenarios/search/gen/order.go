package gen

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios"
	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// handedOut reports whether an API server could hand out a scenario's objects, one after
// the other: what it allocates is there, no two services have the same of it, no slice
// has an address twice, and only what is there is deleted.
func handedOut(s *scenarios.Scenario) bool {
	there := map[string]manifest.Object{}
	if !applied(there, s.Objects) {
		return false
	}
	for i := range s.Steps {
		for _, ref := range s.Steps[i].Delete {
			if _, ok := there[ref.String()]; !ok {
				return false
			}
			delete(there, ref.String())
		}
		if !applied(there, s.Steps[i].Apply) {
			return false
		}
	}
	return true
}

// applied puts objects to those that are there, and reports whether that is in order.
func applied(there map[string]manifest.Object, objects []manifest.Object) bool {
	for _, o := range objects {
		there[o.Ref().String()] = o
	}
	return !slices.ContainsFunc(objects, func(o manifest.Object) bool {
		switch o := o.Object.(type) {
		case *corev1.Service:
			return !complete(o) || collides(there, o)
		case *discoveryv1.EndpointSlice:
			return doubled(o) || hintsNowhere(o)
		}
		return false
	})
}

// doubled reports whether a slice has an address twice.
func doubled(slice *discoveryv1.EndpointSlice) bool {
	seen := map[string]bool{}
	for _, e := range slice.Endpoints {
		a := canonical(e.Addresses[0])
		if seen[a] {
			return true
		}
		seen[a] = true
	}
	return false
}

// hintsNowhere reports whether a slice has a hint for a zone or a node without a name.
func hintsNowhere(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool {
		return e.Hints != nil &&
			(slices.Contains(e.Hints.ForZones, discoveryv1.ForZone{}) || slices.Contains(e.Hints.ForNodes, discoveryv1.ForNode{}))
	})
}

// complete reports whether a service has what its type needs, and nothing that it has not.
func complete(s *corev1.Service) bool {
	spec := &s.Spec
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case spec.Type == corev1.ServiceTypeExternalName:
		return spec.ClusterIP == ""
	case spec.ClusterIP == "",
		spec.ClusterIP != corev1.ClusterIPNone &&
			(len(spec.ClusterIPs) != len(spec.IPFamilies) || slices.Contains(spec.ClusterIPs, corev1.ClusterIPNone)),
		!balanced && len(spec.LoadBalancerSourceRanges)+len(s.Status.LoadBalancer.Ingress) > 0,
		(spec.HealthCheckNodePort != 0) != (balanced && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal):
		return false
	}
	open := spec.Type == corev1.ServiceTypeNodePort || balanced &&
		(spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts)
	for _, p := range spec.Ports {
		if open && p.NodePort == 0 || spec.Type == corev1.ServiceTypeClusterIP && p.NodePort != 0 {
			return false
		}
	}
	return !repeats(s)
}

// repeats reports whether a service has a node port twice for a protocol.
func repeats(s *corev1.Service) bool {
	for i, p := range s.Spec.Ports {
		for _, other := range s.Spec.Ports[:i] {
			if p.NodePort != 0 && p.NodePort == other.NodePort && p.Protocol == other.Protocol {
				return true
			}
		}
	}
	return false
}

// collides reports whether another service that is there has a cluster IP or a node port of the service.
func collides(there map[string]manifest.Object, s *corev1.Service) bool {
	for _, o := range there {
		other, ok := o.Object.(*corev1.Service)
		if !ok || sameService(other, s) {
			continue
		}
		for _, ip := range s.Spec.ClusterIPs {
			if ip != corev1.ClusterIPNone && slices.Contains(other.Spec.ClusterIPs, ip) {
				return true
			}
		}
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 && hasNodePort(other, p.NodePort) {
				return true
			}
		}
	}
	return false
}
