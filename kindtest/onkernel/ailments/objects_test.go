package ailments

import (
	_ "embed"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Objects are what the API server of a ward has.
type Objects []manifest.Object

//go:embed ward.yaml
var wardYAML string

// newObjects are the objects of a ward with nothing wrong.
func newObjects(families Families) (Objects, error) {
	all, err := manifest.ReadObjects("ward.yaml", strings.NewReader(wardYAML))
	if err != nil {
		return nil, err
	}
	return Objects(all).of(families)
}

// of leaves out what is of another family.
func (o Objects) of(families Families) (Objects, error) {
	var kept Objects
	for _, object := range o {
		switch object := object.Object.(type) {
		case *corev1.Node:
			object.Spec.PodCIDRs = slices.DeleteFunc(object.Spec.PodCIDRs, families.lacks)
			object.Spec.PodCIDR = object.Spec.PodCIDRs[0]
			object.Status.Addresses = slices.DeleteFunc(object.Status.Addresses,
				func(a corev1.NodeAddress) bool { return families.lacks(a.Address) })
		case *corev1.Pod:
			object.Status.PodIPs = slices.DeleteFunc(object.Status.PodIPs, func(ip corev1.PodIP) bool { return families.lacks(ip.IP) })
			object.Status.PodIP = object.Status.PodIPs[0].IP
		case *corev1.Service:
			families.restrict(object)
		case *discoveryv1.EndpointSlice:
			if !families.has(object.AddressType == discoveryv1.AddressTypeIPv6) {
				continue
			}
		}
		kept = append(kept, object)
	}
	return kept.again()
}

// lacks reports whether an address or a network is of another family.
func (f Families) lacks(text string) bool {
	return text != corev1.ClusterIPNone && !f.has(strings.Contains(text, ":"))
}

func (f Families) restrict(s *corev1.Service) {
	s.Spec.ClusterIPs = slices.DeleteFunc(s.Spec.ClusterIPs, f.lacks)
	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	s.Spec.IPFamilies = slices.DeleteFunc(s.Spec.IPFamilies, func(of corev1.IPFamily) bool { return !f.has(of == corev1.IPv6Protocol) })
	if f != Dual {
		single := corev1.IPFamilyPolicySingleStack
		s.Spec.IPFamilyPolicy = &single
	}
	s.Spec.LoadBalancerSourceRanges = slices.DeleteFunc(s.Spec.LoadBalancerSourceRanges, f.lacks)
	s.Status.LoadBalancer.Ingress = slices.DeleteFunc(s.Status.LoadBalancer.Ingress,
		func(i corev1.LoadBalancerIngress) bool { return f.lacks(i.IP) })
}

// again are the objects as somebody reads them who has not seen what they were.
func (o Objects) again() (Objects, error) {
	var out Objects
	for _, object := range o {
		anew, err := manifest.New(object.DeepCopyObject())
		if err != nil {
			return nil, err
		}
		out = append(out, anew)
	}
	return out, nil
}

// with are the objects with a change, which is nil for none.
func (o Objects) with(change func(Objects)) (Objects, error) {
	changed, err := o.again()
	if err == nil && change != nil {
		change(changed)
	}
	return changed, err
}

// service is the Service of a name.
func (o Objects) service(name string) *corev1.Service {
	for _, s := range manifest.Of[*corev1.Service](o) {
		if s.Name == name {
			return s
		}
	}
	panic(fmt.Sprintf("the ward has no Service %q", name))
}

// slices are the EndpointSlices of a Service.
func (o Objects) slices(service string) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, s := range manifest.Of[*discoveryv1.EndpointSlice](o) {
		if s.Labels[discoveryv1.LabelServiceName] == service {
			out = append(out, s)
		}
	}
	return out
}

// endpoints changes each endpoint of a Service.
func (o Objects) endpoints(service string, change func(*discoveryv1.Endpoint)) {
	for _, s := range o.slices(service) {
		for i := range s.Endpoints {
			change(&s.Endpoints[i])
		}
	}
}

// node is the Node of a name, nil if no Node has it.
func (o Objects) node(name string) *corev1.Node {
	for _, n := range manifest.Of[*corev1.Node](o) {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// address is the one of these that is of a family.
func address(texts []string, v6 bool) (netip.Addr, error) {
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil && a.Is6() == v6 {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("none of %q is of the family", texts)
}
