package changes

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

// difference returns which Services differ between the maps, and whether a
// UDP port does.
func difference[V any](before, after map[ServicePortName]V, equal func(a, b V) bool) (sets.Set[types.NamespacedName], bool) {
	names, udp := sets.New[types.NamespacedName](), false
	note := func(name ServicePortName) {
		names.Insert(name.NamespacedName)
		udp = udp || name.Protocol == v1.ProtocolUDP
	}
	for name, value := range before {
		if other, ok := after[name]; !ok || !equal(value, other) {
			note(name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			note(name)
		}
	}
	return names, udp
}

func drawService(t *rapid.T, name string) *v1.Service {
	clusterIP := rapid.SampledFrom([]string{"10.96.0.1", "10.96.0.2", "fd00:96::1", v1.ClusterIPNone, ""}).Draw(t, "clusterIP")
	ports := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a/TCP/80/0", "a/TCP/81/0", "a/UDP/80/0", "b/TCP/90/30090", "b/SCTP/90/0", "c/UDP/53/0",
	}), 0, 4).Draw(t, "ports")
	return makeService(name, clusterIP, withPorts(ports...), func(s *v1.Service) {
		s.Spec.ExternalIPs = rapid.SliceOfN(rapid.SampledFrom([]string{"198.51.100.1", "198.51.100.2", "fd00:5::1"}), 0, 2).Draw(t, "externalIPs")
		if rapid.Bool().Draw(t, "affinity") {
			s.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		}
	})
}

// TestServiceTrackerLaw: whatever comes and whenever Apply runs, the map is what
// a new tracker makes of the same objects, and the update names exactly the
// Services by which the map differs from that at the last MarkSynced.
func TestServiceTrackerLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SampledFrom([]v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}).Draw(t, "family")
		tracker := NewServiceTracker(family, false, klog.Logger{}, nil)
		services, objects, unsynced := Services{}, map[string]*v1.Service{}, sets.New[types.NamespacedName]()
		needsCleanup := false
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "name")
				service := drawService(t, name)
				tracker.Update(objects[name], service)
				objects[name] = service
			},
			"delete": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "name")
				tracker.Update(objects[name], nil)
				delete(objects, name)
			},
			"apply": func(t *rapid.T) {
				before := maps.Clone(services)
				update := tracker.Apply(services)
				fresh := NewServiceTracker(family, false, klog.Logger{}, nil)
				for _, service := range objects {
					fresh.Update(nil, service)
				}
				want := Services{}
				fresh.Apply(want)
				require.Equal(t, want, services)

				changed, udp := difference(before, services, (*ServicePort).equal)
				unsynced = unsynced.Union(changed)
				needsCleanup = needsCleanup || udp
				for name, port := range services {
					require.Equal(t, name.Protocol == v1.ProtocolUDP, tracker.UDP()[name] == port, name)
				}
				for name := range tracker.UDP() {
					require.Contains(t, services, name)
				}
				require.Equal(t, unsynced, update.UpdatedServices)
				require.Equal(t, needsCleanup, update.UDPChanged)
				if rapid.Bool().Draw(t, "synced") {
					tracker.MarkSynced()
					unsynced, needsCleanup = sets.New[types.NamespacedName](), false
				}
			},
		})
	})
}

func drawSlice(t *rapid.T, name string) *discovery.EndpointSlice {
	service := rapid.SampledFrom([]string{"p", "q", ""}).Draw(t, "service")
	addressType := rapid.SampledFrom([]discovery.AddressType{ipv4, ipv4, ipv4, ipv6}).Draw(t, "addressType")
	ports := rapid.SliceOfN(rapid.SampledFrom([]string{"a/TCP/80", "a/UDP/80", "b/UDP/53", "b/TCP/0"}), 0, 2).Draw(t, "ports")
	var endpoints []discovery.Endpoint
	for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
		addr := fmt.Sprintf("10.244.0.%d", rapid.IntRange(1, 3).Draw(t, "host"))
		node := rapid.SampledFrom([]string{"here", "there", ""}).Draw(t, "node")
		words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"notready", "notserving", "terminating", "zone=z", "node=here"}), 0, 3,
			rapid.ID[string]).Draw(t, "words")
		endpoints = append(endpoints, makeEndpoint(addr, node, words...))
	}
	return makeSlice(service, name, addressType, ports, endpoints...)
}

// TestEndpointsTrackerLaw is TestServiceTrackerLaw for endpoints.
func TestEndpointsTrackerLaw(t *testing.T) {
	equal := func(a, b []Endpoint) bool { return slices.EqualFunc(a, b, Endpoint.equal) }
	rapid.Check(t, func(t *rapid.T) {
		tracker := newIPv4Tracker()
		endpoints, objects, unsynced := Endpoints{}, map[string]*discovery.EndpointSlice{}, sets.New[types.NamespacedName]()
		needsCleanup := false
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "slice")
				objects[name] = drawSlice(t, name)
				tracker.EndpointSliceUpdate(objects[name], false)
			},
			"delete": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "slice")
				if slice := objects[name]; slice != nil {
					tracker.EndpointSliceUpdate(slice, true)
					delete(objects, name)
				}
			},
			"apply": func(t *rapid.T) {
				before := maps.Clone(endpoints)
				update := tracker.Apply(endpoints)
				fresh := newIPv4Tracker()
				for _, slice := range objects {
					fresh.EndpointSliceUpdate(slice, false)
				}
				want := Endpoints{}
				fresh.Apply(want)
				require.Equal(t, want, endpoints)
				require.Equal(t, fresh.localReady, tracker.localReady)

				changed, udp := difference(before, endpoints, equal)
				unsynced = unsynced.Union(changed)
				needsCleanup = needsCleanup || udp
				require.Equal(t, unsynced, update.UpdatedServices)
				require.Equal(t, needsCleanup, update.UDPChanged)
				if rapid.Bool().Draw(t, "synced") {
					tracker.MarkSynced()
					unsynced, needsCleanup = sets.New[types.NamespacedName](), false
				}
			},
		})
	})
}
