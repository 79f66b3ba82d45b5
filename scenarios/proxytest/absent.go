package proxytest

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier"
)

// absent stands where a node's proxier would be, and does nothing.
type absent struct{}

func (absent) OnServiceAdd(*corev1.Service)                                                 {}
func (absent) OnServiceUpdate(*corev1.Service, *corev1.Service)                             {}
func (absent) OnServiceDelete(*corev1.Service)                                              {}
func (absent) OnServiceSynced()                                                             {}
func (absent) OnEndpointSliceAdd(*discoveryv1.EndpointSlice)                                {}
func (absent) OnEndpointSliceUpdate(*discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice) {}
func (absent) OnEndpointSliceDelete(*discoveryv1.EndpointSlice)                             {}
func (absent) OnEndpointSlicesSynced()                                                      {}
func (absent) OnNodeAdd(*corev1.Node)                                                       {}
func (absent) OnNodeUpdate(*corev1.Node, *corev1.Node)                                      {}
func (absent) OnNodeDelete(*corev1.Node)                                                    {}
func (absent) OnNodeSynced()                                                                {}

// Sync does nothing.
func (absent) Sync() error { return nil }

// EnsureCanaries does nothing.
func (absent) EnsureCanaries() error { return nil }

// Health knows of no service.
func (absent) Health(corev1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth { return nil }
