package cases

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Objects is what the API holds.
type Objects struct {
	services map[types.NamespacedName]*v1.Service
	Slices   map[types.NamespacedName]*discovery.EndpointSlice
	Zone     string
}

// NewObjects returns an empty API.
func NewObjects() *Objects {
	return &Objects{
		services: map[types.NamespacedName]*v1.Service{},
		Slices:   map[types.NamespacedName]*discovery.EndpointSlice{},
	}
}

// Handler gets the events of an API. The objects that it is given are its own.
type Handler interface {
	OnServiceAdd(service *v1.Service)
	OnServiceUpdate(before, after *v1.Service)
	OnServiceDelete(service *v1.Service)
	OnEndpointSliceAdd(slice *discovery.EndpointSlice)
	OnEndpointSliceUpdate(before, after *discovery.EndpointSlice)
	OnEndpointSliceDelete(slice *discovery.EndpointSlice)
	OnZone(zone string)
}

// Apply changes the objects by a step and tells the handlers. Steps that are not about objects change nothing.
func (o *Objects) Apply(step *Step, handlers ...Handler) {
	switch {
	case step.Service != nil:
		o.applyService(step.Service, handlers)
	case step.Slice != nil:
		o.applySlice(step.Slice, handlers)
	case step.DeleteService != "":
		key := Key(step.DeleteService)
		if old := o.services[key]; old != nil {
			delete(o.services, key)
			for _, h := range handlers {
				h.OnServiceDelete(old.DeepCopy())
			}
		}
	case step.DeleteSlice != "":
		key := Key(step.DeleteSlice)
		if old := o.Slices[key]; old != nil {
			delete(o.Slices, key)
			for _, h := range handlers {
				h.OnEndpointSliceDelete(old.DeepCopy())
			}
		}
	case step.Zone != nil && *step.Zone != o.Zone:
		o.Zone = *step.Zone
		for _, h := range handlers {
			h.OnZone(o.Zone)
		}
	}
}

func (o *Objects) applyService(service *v1.Service, handlers []Handler) {
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	old := o.services[key]
	o.services[key] = service
	for _, h := range handlers {
		if old == nil {
			h.OnServiceAdd(service.DeepCopy())
		} else {
			h.OnServiceUpdate(old.DeepCopy(), service.DeepCopy())
		}
	}
}

func (o *Objects) applySlice(slice *discovery.EndpointSlice, handlers []Handler) {
	key := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Name}
	old := o.Slices[key]
	o.Slices[key] = slice
	for _, h := range handlers {
		if old == nil {
			h.OnEndpointSliceAdd(slice.DeepCopy())
		} else {
			h.OnEndpointSliceUpdate(old.DeepCopy(), slice.DeepCopy())
		}
	}
}

// SortedServices returns the services by name.
func (o *Objects) SortedServices() []*v1.Service {
	return sorted(o.services)
}

// SortedSlices returns the slices by name.
func (o *Objects) SortedSlices() []*discovery.EndpointSlice {
	return sorted(o.Slices)
}

// slicesOf returns the slices of a service, by name.
func (o *Objects) slicesOf(service types.NamespacedName) []*discovery.EndpointSlice {
	return slices.DeleteFunc(o.SortedSlices(), func(s *discovery.EndpointSlice) bool {
		return s.Namespace != service.Namespace || s.Labels[discovery.LabelServiceName] != service.Name
	})
}

func sorted[T any](m map[types.NamespacedName]T) []T {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	list := make([]T, 0, len(keys))
	for _, key := range keys {
		list = append(list, m[key])
	}
	return list
}
