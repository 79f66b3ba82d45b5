package peers

import (
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/kubernetes/pkg/proxy"
)

// each tells the proxies of both families, if they have started.
func (s *stages) each(tell func(proxy.Provider)) {
	for _, family := range Families {
		if f := s.proxies[family]; f != nil {
			tell(f.proxier)
		}
	}
}

// OnServiceAdd implements cases.Handler.
func (s *stages) OnServiceAdd(service *v1.Service) {
	s.each(func(p proxy.Provider) { p.OnServiceAdd(service) })
}

// OnServiceUpdate implements cases.Handler.
func (s *stages) OnServiceUpdate(before, after *v1.Service) {
	s.each(func(p proxy.Provider) { p.OnServiceUpdate(before, after) })
}

// OnServiceDelete implements cases.Handler.
func (s *stages) OnServiceDelete(service *v1.Service) {
	s.each(func(p proxy.Provider) { p.OnServiceDelete(service) })
}

// OnEndpointSliceAdd implements cases.Handler.
func (s *stages) OnEndpointSliceAdd(slice *discovery.EndpointSlice) {
	s.each(func(p proxy.Provider) { p.OnEndpointSliceAdd(slice) })
}

// OnEndpointSliceUpdate implements cases.Handler.
func (s *stages) OnEndpointSliceUpdate(before, after *discovery.EndpointSlice) {
	s.each(func(p proxy.Provider) { p.OnEndpointSliceUpdate(before, after) })
}

// OnEndpointSliceDelete implements cases.Handler.
func (s *stages) OnEndpointSliceDelete(slice *discovery.EndpointSlice) {
	s.each(func(p proxy.Provider) { p.OnEndpointSliceDelete(slice) })
}

// OnZone implements cases.Handler.
func (s *stages) OnZone(string) {}
