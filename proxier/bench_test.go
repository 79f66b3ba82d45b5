package proxier_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/iptables"
)

// addClusterIPs adds n ClusterIP services of so many endpoints each.
func addClusterIPs(p *proxier.Proxier, n, endpoints int) {
	for i := range n {
		p.OnServiceAdd(&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: clusterIPName(i)},
			Spec: v1.ServiceSpec{
				ClusterIP: fmt.Sprintf("172.30.%d.%d", i>>8, i&255),
				Ports:     []v1.ServicePort{{Name: "http", Port: 80}},
			},
		})
		p.OnEndpointSliceAdd(clusterIPSlice(i, endpoints))
	}
}

func clusterIPName(i int) string { return fmt.Sprintf("service-%05d", i) }

// clusterIPSlice holds the endpoints of one of these services.
func clusterIPSlice(i, endpoints int) *discovery.EndpointSlice {
	name, port, ready := "http", int32(8080), true
	slice := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: clusterIPName(i) + "-1", Labels: map[string]string{discovery.LabelServiceName: clusterIPName(i)},
		},
		AddressType: discovery.AddressTypeIPv4,
		Ports:       []discovery.EndpointPort{{Name: &name, Port: &port}},
	}
	for j := range endpoints {
		number := 1 + i*endpoints + j
		slice.Endpoints = append(slice.Endpoints, discovery.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", number>>16, number>>8&255, number&255)},
			Conditions: discovery.EndpointConditions{Ready: &ready},
		})
	}
	return slice
}

// newLarge returns a proxier that was given 10,000 services of 5 endpoints each
// and has not synced yet, and its tools.
func newLarge(b *testing.B) (*proxier.Proxier, *discard) {
	config, _ := testConfig(v1.IPv4Protocol)
	config.LocalDetector = proxier.DetectLocalByCIDR(prefix("10.0.0.0/8"))
	tools := &discard{recorder: newRecorder(iptables.ProtocolIPv4)}
	config.Rules = proxier.IPTables{Tools: tools}
	p, err := proxier.New(config)
	require.NoError(b, err)
	addClusterIPs(p, 10000, 5)
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	return p, tools
}

// BenchmarkFullSync10kx5 measures all of a full sync but the tools, with all
// chains of the last sync in the kernel.
func BenchmarkFullSync10kx5(b *testing.B) {
	p, tools := newLarge(b)
	tools.keep = true
	require.NoError(b, p.Sync())
	tools.keep = false
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, p.SyncAll())
	}
	b.ReportMetric(float64(tools.bytes), "input-bytes")
}

// BenchmarkFirstSync10kx5 measures the sync after the start, which also merges
// all changes and makes the buffers.
func BenchmarkFirstSync10kx5(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		p, _ := newLarge(b)
		b.StartTimer()
		require.NoError(b, p.Sync())
	}
}

// BenchmarkPartialSync changes one EndpointSlice in clusters of several sizes.
// The time must not follow the size.
func BenchmarkPartialSync(b *testing.B) {
	for _, services := range []int{1000, 10000, 50000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			config, _ := testConfig(v1.IPv4Protocol)
			tools := &discard{recorder: newRecorder(iptables.ProtocolIPv4)}
			config.Rules = proxier.IPTables{Tools: tools}
			p, err := proxier.New(config)
			require.NoError(b, err)
			addClusterIPs(p, services, 5)
			p.OnServiceSynced()
			p.OnEndpointSlicesSynced()
			require.NoError(b, p.Sync())
			slices := [2]*discovery.EndpointSlice{clusterIPSlice(services/2, 5), clusterIPSlice(services/2, 5)}
			slices[1].Endpoints[2].Addresses = []string{"10.255.0.1"}
			b.ReportAllocs()
			turn := 0
			for b.Loop() {
				turn++
				p.OnEndpointSliceUpdate(nil, slices[turn%2])
				require.NoError(b, p.Sync())
			}
			b.ReportMetric(float64(tools.bytes), "input-bytes")
		})
	}
}
