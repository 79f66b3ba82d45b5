package gen

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// cluster is what there is after the steps so far.
type cluster struct {
	families []corev1.IPFamily
	nodes    []node
	services []*corev1.Service
	slices   []*discoveryv1.EndpointSlice
	deleted  []*corev1.Service // that were there, whose addresses and ports are free again
}

// note remembers an object as it is now, and returns it as a scenario has it.
func (c *cluster) note(o manifest.Object) manifest.Object {
	switch object := o.Object.(type) {
	case *corev1.Service:
		c.services = replace(c.services, object, sameService)
	case *discoveryv1.EndpointSlice:
		c.slices = replace(c.slices, object, sameSlice)
	}
	return o
}

func replace[T any](list []T, one T, same func(a, b T) bool) []T {
	i := slices.IndexFunc(list, func(other T) bool { return same(one, other) })
	if i < 0 {
		return append(list, one)
	}
	list = slices.Clone(list)
	list[i] = one
	return list
}

func sameService(a, b *corev1.Service) bool { return a.Namespace == b.Namespace && a.Name == b.Name }

func sameSlice(a, b *discoveryv1.EndpointSlice) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name
}

// serviceOf is the service of a slice, nil if there is none.
func (c *cluster) serviceOf(slice *discoveryv1.EndpointSlice) *corev1.Service {
	i := slices.IndexFunc(c.services, func(s *corev1.Service) bool {
		return s.Namespace == slice.Namespace && s.Name == slice.Labels[discoveryv1.LabelServiceName]
	})
	if i < 0 {
		return nil
	}
	return c.services[i]
}

// slicesFor are the slices of a service that are there.
func (c *cluster) slicesFor(s *corev1.Service) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, slice := range c.slices {
		if slice.Namespace == s.Namespace && slice.Labels[discoveryv1.LabelServiceName] == s.Name {
			out = append(out, slice)
		}
	}
	return out
}

// forgetService takes a service from those that are there.
func (c *cluster) forgetService(s *corev1.Service) {
	c.services = slices.DeleteFunc(slices.Clone(c.services), func(o *corev1.Service) bool { return sameService(o, s) })
	c.deleted = append(c.deleted, s)
}

func (c *cluster) forgetSlice(s *discoveryv1.EndpointSlice) {
	c.slices = slices.DeleteFunc(slices.Clone(c.slices), func(o *discoveryv1.EndpointSlice) bool { return sameSlice(o, s) })
}

// taken reports whether a service that is there has the cluster IP.
func (c *cluster) taken(ip string) bool {
	return slices.ContainsFunc(c.services, func(s *corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, ip) })
}

// isFree reports whether no service has a node port, nor one that is being made.
func (c *cluster) isFree(port int32, own *corev1.Service) bool {
	return !hasNodePort(own, port) && !slices.ContainsFunc(c.services, func(s *corev1.Service) bool { return hasNodePort(s, port) })
}

// somebody reports whether something is true of a service that is there, or may come back.
func (c *cluster) somebody(is func(*corev1.Service) bool) bool {
	return slices.ContainsFunc(c.services, is) || slices.ContainsFunc(c.deleted, is)
}

func servesFirstPort(s *corev1.Service) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == firstPort })
}

func hasNodePort(s *corev1.Service, port int32) bool {
	return s.Spec.HealthCheckNodePort == port ||
		slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == port })
}

// nodeOf is the node whose pods have addresses such as this one.
func (c *cluster) nodeOf(a netip.Addr) node {
	return c.nodes[slices.IndexFunc(c.nodes, func(n node) bool { return n.holds(a) })]
}
