package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Name is what Kubernetes' controller calls itself in the label endpointslice.kubernetes.io/managed-by of its slices.
const Name = "endpointslice-controller.k8s.io"

// maxEndpoints is how many endpoints the API allows a slice. With the controller's default of 100 chance would say which of more pods are
// in which slice of a cluster.
const maxEndpoints = 1000

// slicesOf are the slices of a service with a selector, under names that follow from their order: SERVICE-ipv4-1, SERVICE-ipv6-1.
func (c *controller) slicesOf(o manifest.Object) ([]manifest.Object, error) {
	made, err := c.desired(o.Object.(*corev1.Service))
	if err != nil {
		return nil, fmt.Errorf("%s: endpoint slices of %s: %w", o.Pos, o.Ref(), err)
	}
	for _, slice := range made {
		slices.SortStableFunc(slice.Endpoints, func(a, b discoveryv1.Endpoint) int { return slices.Compare(a.Addresses, b.Addresses) })
		slices.SortStableFunc(slice.Ports, func(a, b discoveryv1.EndpointPort) int { return strings.Compare(portText(a), portText(b)) })
	}
	slices.SortStableFunc(made, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.AddressType, b.AddressType), slices.CompareFunc(a.Ports, b.Ports, func(a, b discoveryv1.EndpointPort) int {
			return strings.Compare(portText(a), portText(b))
		}))
	})
	numbers := map[discoveryv1.AddressType]int{}
	out := make([]manifest.Object, len(made))
	for i, slice := range made {
		slice.Name = c.freeName(slice, o, numbers)
		if out[i], err = manifest.New(slice); err != nil {
			return nil, err
		}
		out[i].Pos, out[i].Derived = o.Pos, true
	}
	return out, nil
}

// freeName is the next name of a service's slices that the scenario has not given to a slice of another one.
func (c *controller) freeName(slice *discoveryv1.EndpointSlice, service manifest.Object, numbers map[discoveryv1.AddressType]int) string {
	for {
		numbers[slice.AddressType]++
		name := fmt.Sprintf("%s-%s-%d", service.Meta().GetName(), strings.ToLower(string(slice.AddressType)), numbers[slice.AddressType])
		if !c.taken[types.NamespacedName{Namespace: slice.Namespace, Name: name}] {
			return name
		}
	}
}

func portText(p discoveryv1.EndpointPort) string {
	return fmt.Sprintf("%s %s %05d", *p.Name, *p.Protocol, *p.Port)
}
