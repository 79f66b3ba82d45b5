package config

import (
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
)

// Handler is a consumer of all three kinds. Events of one kind arrive one by one
// and in order; events of different kinds may arrive at the same time. Objects
// are shared with other consumers and must not be modified. Each On...Synced is
// called once, after everything that the API held at first was added.
type Handler interface {
	OnServiceAdd(service *v1.Service)
	OnServiceUpdate(oldService, service *v1.Service)
	OnServiceDelete(service *v1.Service)
	OnServiceSynced()

	OnEndpointSliceAdd(slice *discovery.EndpointSlice)
	OnEndpointSliceUpdate(oldSlice, slice *discovery.EndpointSlice)
	OnEndpointSliceDelete(slice *discovery.EndpointSlice)
	OnEndpointSlicesSynced()

	OnNodeAdd(node *v1.Node)
	OnNodeUpdate(oldNode, node *v1.Node)
	OnNodeDelete(node *v1.Node)
	OnNodeSynced()
}
