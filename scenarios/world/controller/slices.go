package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	sliceutil "k8s.io/endpointslice/util"

	"github.com/chainwalk/chainwalk/scenarios/format/manifest"
)

// Name is what Kubernetes' controller calls itself in the label endpointslice.kubernetes.io/managed-by of its slices.
const Name = "endpointslice-controller.k8s.io"

// maxEndpoints is how many endpoints the API allows a slice. With the controller's default of 100 chance would say which of more pods
// are in which slice.
const maxEndpoints = 1000

// slicesOf are the slices of a service with a selector, under names that follow from their order: SERVICE-ipv4-1, SERVICE-ipv6-1.
func (c *controller) slicesOf(o manifest.Object) ([]manifest.Object, error) {
	made, err := c.desired(o.Object.(*corev1.Service))
	if err != nil {
		return nil, fmt.Errorf("%s: endpoint slices of %s: %w", o.Pos, o.Ref(), err)
	}
	for _, slice := range made {
		slices.SortFunc(slice.Endpoints, func(a, b discoveryv1.Endpoint) int { return slices.Compare(a.Addresses, b.Addresses) })
		slices.SortFunc(slice.Ports, func(a, b discoveryv1.EndpointPort) int { return strings.Compare(portText(a), portText(b)) })
	}
	slices.SortFunc(made, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.AddressType, b.AddressType), slices.CompareFunc(a.Ports, b.Ports, func(a, b discoveryv1.EndpointPort) int {
			return strings.Compare(portText(a), portText(b))
		}))
	})
	numbers := map[discoveryv1.AddressType]int{}
	out := make([]manifest.Object, len(made))
	for i, slice := range made {
		slice.Name, slice.GenerateName, slice.OwnerReferences = c.freeName(slice, o, numbers), "", nil
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

// desired are the slices that the controller would make of a service that has none, in any order and without names.
func (c *controller) desired(service *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, node := range c.nodes {
		if err := nodes.Add(node); err != nil {
			return nil, err
		}
	}
	var pods []*corev1.Pod
	for _, name := range slices.SortedFunc(maps.Keys(c.pods), compareNames) {
		if pod := c.pods[name]; pod.Namespace == service.Namespace && selected(service, pod) {
			pods = append(pods, pod)
		}
	}
	var made []*discoveryv1.EndpointSlice
	client := &fake.Clientset{}
	client.AddReactor("create", "endpointslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		slice := a.(clienttesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice)
		made = append(made, slice)
		return true, slice, nil
	})
	r := endpointslice.NewReconciler(client, corelisters.NewNodeLister(nodes), maxEndpoints, sliceutil.NewEndpointSliceTracker(), nil,
		&record.FakeRecorder{}, Name, endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	err := r.Reconcile(logr.Discard(), service, pods, nil, time.Time{})
	return made, err
}
