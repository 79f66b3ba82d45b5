package api

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier/config"
)

// Knowledge is what a proxier knows: the objects that it was told of, as it was told last. They are not to be changed.
type Knowledge struct {
	Services []*corev1.Service            // sorted by namespace and name
	Slices   []*discoveryv1.EndpointSlice // sorted by namespace and name
	Node     *corev1.Node                 // its own; nil if it was told that it is gone
	// ServiceCIDRs are the ranges that cluster IPs come from, as objects spell them.
	ServiceCIDRs []string
}

// Tell tells an empty proxier all of it.
func (v *Knowledge) Tell(proxier config.Handler) {
	if v.Node != nil {
		proxier.OnNodeAdd(v.Node)
	}
	proxier.OnNodeSynced()
	if listens, is := proxier.(config.ServiceCIDRHandler); is && len(v.ServiceCIDRs) > 0 {
		listens.OnServiceCIDRsChanged(v.ServiceCIDRs)
	}
	for _, s := range v.Services {
		proxier.OnServiceAdd(s)
	}
	proxier.OnServiceSynced()
	for _, s := range v.Slices {
		proxier.OnEndpointSliceAdd(s)
	}
	proxier.OnEndpointSlicesSynced()
}

// known is a Knowledge that changes.
type known struct {
	services map[types.NamespacedName]*corev1.Service
	slices   map[types.NamespacedName]*discoveryv1.EndpointSlice
	node     *corev1.Node
	ranges   []string
}

func (k *known) view() *Knowledge {
	return &Knowledge{Services: sorted(k.services), Slices: sorted(k.slices), Node: k.node, ServiceCIDRs: k.ranges}
}

func sorted[T any](objects map[types.NamespacedName]T) []T {
	out := make([]T, 0, len(objects))
	for _, name := range slices.SortedFunc(maps.Keys(objects), compareNames) {
		out = append(out, objects[name])
	}
	return out
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
