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
	name, port, ready := "http", int32(8080), true
	for i := range n {
		service := fmt.Sprintf("service-%05d", i)
		p.OnServiceAdd(&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: service},
			Spec: v1.ServiceSpec{
				ClusterIP: fmt.Sprintf("172.30.%d.%d", i>>8, i&255),
				Ports:     []v1.ServicePort{{Name: name, Port: 80}},
			},
		})
		slice := &discovery.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: service + "-1", Labels: map[string]string{discovery.LabelServiceName: service},
			},
			AddressType: discovery.AddressTypeIPv4,
			Ports:       []discovery.EndpointPort{{Name: &name, Port: &port}},
		}
		for j := range endpoints {
			slice.Endpoints = append(slice.Endpoints, discovery.Endpoint{
				Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", j+1, i>>8, i&255)},
				Conditions: discovery.EndpointConditions{Ready: &ready},
			})
		}
		p.OnEndpointSliceAdd(slice)
	}
}

// newLarge returns a proxier that was given 10,000 services of 5 endpoints each
// and has not synced yet, and its tools.
func newLarge(b *testing.B) (*proxier.Proxier, *discard) {
	config, _ := testConfig(v1.IPv4Protocol)
	config.LocalDetector = proxier.DetectLocalByCIDR(prefix("10.0.0.0/8"))
	tools := &discard{recorder: newRecorder(iptables.ProtocolIPv4)}
	config.IPTables = tools
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
		require.NoError(b, p.Sync())
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
