package changes

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/klog/v2"
)

// clusterSlice returns the slice of service n with five endpoints, of which the
// last depends on version.
func clusterSlice(n, version int) *discovery.EndpointSlice {
	var endpoints []discovery.Endpoint
	for e := range 4 {
		endpoints = append(endpoints, makeEndpoint(fmt.Sprintf("10.%d.%d.%d", n>>8, n&255, e+1), "there"))
	}
	endpoints = append(endpoints, makeEndpoint(fmt.Sprintf("10.%d.%d.%d", n>>8, n&255, 5+version), "there"))
	name := fmt.Sprintf("s%d", n)
	return makeSlice(name, name+"-x", ipv4, httpPort, endpoints...)
}

// BenchmarkApplyOneSlice must not depend on the number of Services.
func BenchmarkApplyOneSlice(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("services=%d", size), func(b *testing.B) {
			tracker := newIPv4Tracker()
			for n := range size {
				tracker.EndpointSliceUpdate(clusterSlice(n, 0), false)
			}
			endpoints := Endpoints{}
			tracker.Apply(endpoints)
			tracker.MarkSynced()
			versions := []*discovery.EndpointSlice{clusterSlice(7, 1), clusterSlice(7, 2)}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				tracker.EndpointSliceUpdate(versions[i%2], false)
				tracker.Apply(endpoints)
				tracker.MarkSynced()
			}
		})
	}
}

// BenchmarkFirstApply reads a whole cluster.
func BenchmarkFirstApply(b *testing.B) {
	const size = 10_000
	var services []*v1.Service
	var slices []*discovery.EndpointSlice
	for n := range size {
		services = append(services, makeService(fmt.Sprintf("s%d", n), fmt.Sprintf("10.96.%d.%d", n>>8, n&255), withPorts("http/TCP/80/0")))
		slices = append(slices, clusterSlice(n, 0))
	}
	b.ReportAllocs()
	for b.Loop() {
		serviceTracker, endpointsTracker := NewServiceTracker(v1.IPv4Protocol, false, klog.Logger{}, nil), newIPv4Tracker()
		for n := range size {
			serviceTracker.Update(nil, services[n])
			endpointsTracker.EndpointSliceUpdate(slices[n], false)
		}
		serviceTracker.Apply(Services{})
		endpointsTracker.Apply(Endpoints{})
	}
}
