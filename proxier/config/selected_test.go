package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// heard notes what it is told.
type heard struct {
	Handler
	of []string
}

func (h *heard) OnServiceAdd(s *v1.Service)       { h.of = append(h.of, "add "+s.Name) }
func (h *heard) OnServiceUpdate(_, s *v1.Service) { h.of = append(h.of, "update "+s.Name) }
func (h *heard) OnServiceDelete(s *v1.Service)    { h.of = append(h.of, "delete "+s.Name) }
func (h *heard) OnEndpointSliceAdd(s *discovery.EndpointSlice) {
	h.of = append(h.of, "add slice "+s.Name)
}
func (h *heard) OnEndpointSliceUpdate(_, s *discovery.EndpointSlice) {
	h.of = append(h.of, "update slice "+s.Name)
}
func (h *heard) OnEndpointSliceDelete(s *discovery.EndpointSlice) {
	h.of = append(h.of, "delete slice "+s.Name)
}

func TestSelectedTellsWhatAWatchWould(t *testing.T) {
	service := func(name, label, ip string) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: ""}}, Spec: v1.ServiceSpec{ClusterIP: ip},
		}
	}
	slice := func(name, label string) *discovery.EndpointSlice {
		return &discovery.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: ""}}}
	}
	const other = "service.kubernetes.io/service-proxy-name"
	h := &heard{}
	s := Selected(h)
	s.OnServiceAdd(service("plain", "app", "172.30.0.1"))
	s.OnServiceAdd(service("other", other, "172.30.0.2"))
	s.OnServiceAdd(service("headless", "app", v1.ClusterIPNone))
	s.OnServiceUpdate(service("plain", "app", "172.30.0.1"), service("plain", "more", "172.30.0.1"))
	s.OnServiceUpdate(service("plain", "app", "172.30.0.1"), service("plain", other, "172.30.0.1"))
	s.OnServiceUpdate(service("other", other, "172.30.0.2"), service("other", "app", "172.30.0.2"))
	s.OnServiceUpdate(service("other", other, "172.30.0.2"), service("other", other, "172.30.0.3"))
	s.OnServiceDelete(service("other", other, "172.30.0.2"))
	s.OnServiceDelete(service("plain", "app", "172.30.0.1"))
	s.OnEndpointSliceAdd(slice("plain", "app"))
	s.OnEndpointSliceAdd(slice("headless", v1.IsHeadlessService))
	s.OnEndpointSliceUpdate(slice("plain", "app"), slice("plain", v1.IsHeadlessService))
	s.OnEndpointSliceUpdate(slice("plain", "app"), slice("plain", "more"))
	s.OnEndpointSliceDelete(slice("headless", v1.IsHeadlessService))
	s.OnEndpointSliceDelete(slice("plain", "app"))
	assert.Equal(t, []string{
		"add plain", "update plain", "delete plain", "add other", "delete plain",
		"add slice plain", "delete slice plain", "update slice plain", "delete slice plain",
	}, h.of)
}
