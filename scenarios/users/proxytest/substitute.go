package proxytest

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/chainwalk/chainwalk/proxier"
)

// substitute stands where a node's proxier would be. It hears of nothing: the program under test reads the objects when it syncs.
type substitute struct{ sync func() error }

func (*substitute) OnServiceAdd(*corev1.Service)                                                 {}
func (*substitute) OnServiceUpdate(*corev1.Service, *corev1.Service)                             {}
func (*substitute) OnServiceDelete(*corev1.Service)                                              {}
func (*substitute) OnServiceSynced()                                                             {}
func (*substitute) OnEndpointSliceAdd(*discoveryv1.EndpointSlice)                                {}
func (*substitute) OnEndpointSliceUpdate(*discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice) {}
func (*substitute) OnEndpointSliceDelete(*discoveryv1.EndpointSlice)                             {}
func (*substitute) OnEndpointSlicesSynced()                                                      {}
func (*substitute) OnNodeAdd(*corev1.Node)                                                       {}
func (*substitute) OnNodeUpdate(*corev1.Node, *corev1.Node)                                      {}
func (*substitute) OnNodeDelete(*corev1.Node)                                                    {}
func (*substitute) OnNodeSynced()                                                                {}

// Sync has the program under test do its work.
func (s *substitute) Sync() error { return s.sync() }

// EnsureCanaries does nothing.
func (*substitute) EnsureCanaries() error { return nil }

// Health knows of no service.
func (*substitute) Health(corev1.IPFamily) map[types.NamespacedName]proxier.ServiceHealth { return nil }
