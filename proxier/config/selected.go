package config

import (
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"

	"github.com/chainwalk/chainwalk/proxier/internal/changes"
)

// keepService leaves out what another proxy serves and what is headless.
func keepService(service *v1.Service) bool {
	return !hasAny(service, changes.LabelServiceProxyName) && service.Spec.ClusterIP != v1.ClusterIPNone
}

// keepEndpointSlice leaves out the slices of such services.
func keepEndpointSlice(slice *discovery.EndpointSlice) bool {
	return !hasAny(slice, changes.LabelServiceProxyName, v1.IsHeadlessService)
}

// Selected is a handler for what hears of all objects, without an API server that selects:
// it passes on what a Stream would tell. An object that is selected no longer has gone.
func Selected(handler Handler) Handler { return selected{handler} }

type selected struct{ Handler }

func (s selected) OnServiceAdd(service *v1.Service) {
	if keepService(service) {
		s.Handler.OnServiceAdd(service)
	}
}

func (s selected) OnServiceUpdate(old, current *v1.Service) {
	passUpdate(old, current, keepService, s.Handler.OnServiceAdd, s.Handler.OnServiceUpdate, s.Handler.OnServiceDelete)
}

func (s selected) OnServiceDelete(service *v1.Service) {
	if keepService(service) {
		s.Handler.OnServiceDelete(service)
	}
}

func (s selected) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	if keepEndpointSlice(slice) {
		s.Handler.OnEndpointSliceAdd(slice)
	}
}

func (s selected) OnEndpointSliceUpdate(old, current *discovery.EndpointSlice) {
	passUpdate(old, current, keepEndpointSlice, s.Handler.OnEndpointSliceAdd, s.Handler.OnEndpointSliceUpdate, s.Handler.OnEndpointSliceDelete)
}

func (s selected) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	if keepEndpointSlice(slice) {
		s.Handler.OnEndpointSliceDelete(slice)
	}
}

func passUpdate[T any](old, current T, keep func(T) bool, add func(T), update func(old, current T), remove func(T)) {
	switch had, has := keep(old), keep(current); {
	case had && has:
		update(old, current)
	case has:
		add(current)
	case had:
		remove(old)
	}
}
