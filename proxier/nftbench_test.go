package proxier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/chainwalk/chainwalk/proxier"
	"github.com/chainwalk/chainwalk/proxier/nftables"
)

// discardNFT are tools of nft that take everything at once and find nothing.
type discardNFT struct{ bytes int }

func (d *discardNFT) Family() v1.IPFamily { return v1.IPv4Protocol }
func (d *discardNFT) Comments() bool      { return true }
func (d *discardNFT) Apply(transaction []byte) error {
	d.bytes = len(transaction)
	return nil
}
func (d *discardNFT) Sets(string) (map[string]nftables.Set, error)                   { return nil, nftables.ErrNotFound }
func (d *discardNFT) Chains(string) (map[string]nftables.Chain, error)               { return nil, nil }
func (d *discardNFT) InUse(string, string) (bool, error)                             { return true, nil }
func (d *discardNFT) Monitor(string, string, func(), time.Duration, <-chan struct{}) {}

// newLargeNFT returns a proxier in mode nftables that was given so many services of 5 endpoints each, on another node, and has not synced
// yet, and its tools.
func newLargeNFT(b *testing.B, services int) (*proxier.Proxier, *discardNFT) {
	config, _ := testConfig(v1.IPv4Protocol)
	config.LocalDetector = proxier.DetectLocalByCIDR(prefix("10.0.0.0/8"))
	config.Clock = testclock.NewFakeClock(time.Unix(1000000, 0))
	tools := &discardNFT{}
	config.Rules = proxier.NFTables{Tools: tools}
	p, err := proxier.New(config)
	require.NoError(b, err)
	addClusterIPs(p, services, 0)
	for i := range services {
		p.OnEndpointSliceUpdate(nil, elsewhere(clusterIPSlice(i, 5)))
	}
	p.OnServiceSynced()
	p.OnEndpointSlicesSynced()
	return p, tools
}

// elsewhere puts the endpoints on another node.
func elsewhere(slice *discovery.EndpointSlice) *discovery.EndpointSlice {
	node := "elsewhere"
	for i := range slice.Endpoints {
		slice.Endpoints[i].NodeName = &node
	}
	return slice
}

// BenchmarkNFTablesFirstSync10kx5 measures all of the sync after the start but the tool.
func BenchmarkNFTablesFirstSync10kx5(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		p, tools := newLargeNFT(b, 10000)
		b.StartTimer()
		require.NoError(b, p.Sync())
		b.ReportMetric(float64(tools.bytes), "input-bytes")
	}
}

// BenchmarkNFTablesFullSync10kx5 measures a full sync after the first.
func BenchmarkNFTablesFullSync10kx5(b *testing.B) {
	p, _ := newLargeNFT(b, 10000)
	require.NoError(b, p.Sync())
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, p.SyncAll())
	}
}

// BenchmarkNFTablesPartialSync changes one EndpointSlice in clusters of several sizes. The time must not follow the size.
func BenchmarkNFTablesPartialSync(b *testing.B) {
	for _, services := range []int{1000, 10000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			p, tools := newLargeNFT(b, services)
			require.NoError(b, p.Sync())
			slices := [2]*discovery.EndpointSlice{elsewhere(clusterIPSlice(services/2, 5)), elsewhere(clusterIPSlice(services/2, 5))}
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
